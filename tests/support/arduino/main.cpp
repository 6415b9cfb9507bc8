// The main program that Arduino adds: here it ends with the input.
void setup();
void loop();

int main()
{
    setup();
    while (Serial.available() != 0)
        loop();
    return 0;
}
