// As much of Arduino as the examples use, on this computer: the serial port is standard input and output.
#pragma once
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#define F(text) text // a string that stays in flash, on AVR

enum { A0 = 14, A1, A2 };
enum { LED_BUILTIN = 13, INPUT_PULLUP = 2, OUTPUT = 1, LOW = 0, HIGH = 1 };
inline void pinMode(int, int) {}
inline int digitalRead(int) { return HIGH; } // nobody presses a button
inline void digitalWrite(int, int value) { std::printf("%s\n", value == HIGH ? "on" : "off"); }
// A second each time that a sketch asks.
inline unsigned long millis()
{
    static unsigned long now;
    return now += 1000;
}
inline int analogRead(int pin) { return 10 * pin; }
inline unsigned long micros() { return (unsigned long)std::clock(); }

class Port {
  public:
    void begin(unsigned long) {}
    explicit operator bool() const { return true; }
    int available() { return peek() == EOF ? 0 : 1; }
    float parseFloat() { return std::strtof(number().c_str(), nullptr); }
    long parseInt() { return std::strtol(number().c_str(), nullptr, 10); }
    void print(const char *text) { std::printf("%s", text); }
    void print(char sign) { std::printf("%c", sign); }
    void print(int number) { std::printf("%d", number); }
    void print(long number) { std::printf("%ld", number); }
    void println(unsigned number) { std::printf("%u\n", number); }
    void print(unsigned long number) { std::printf("%lu", number); }
    void print(float number, int digits) { std::printf("%.*f", digits, static_cast<double>(number)); }
    void println(const char *text) { std::printf("%s\n", text); }

  private:
    static int peek()
    {
        const int next = std::getchar();
        std::ungetc(next, stdin);
        return next;
    }
    // As Arduino's: skips what is no number, and stops behind it.
    static std::string number()
    {
        std::string text;
        while (peek() != EOF && !std::isdigit(peek()) && peek() != '-')
            std::getchar();
        while (peek() != EOF && (std::isdigit(peek()) || std::string("-+.e").find((char)peek()) != std::string::npos))
            text += (char)std::getchar();
        while (peek() == '\n')
            std::getchar();
        return text;
    }
};

static Port Serial;
