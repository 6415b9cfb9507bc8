/* Prints a line of comma separated integers per sample, for `ethereal capture`. The time in microseconds comes first.

   As it is, it reads three analog pins. For a sensor with a library of its own, fill `sample` in read_sample(). For
   example, a Nano 33 BLE has an accelerometer. Install the library Arduino_LSM9DS1 and use:

     #include <Arduino_LSM9DS1.h>
     IMU.begin();                                 // in setup()
     float x, y, z;                               // in read_sample()
     IMU.readAcceleration(x, y, z);
     sample[0] = 1000 * x; sample[1] = 1000 * y; sample[2] = 1000 * z;

   Samples must be whole numbers from -32768 to 32767. The exported model reads the same numbers. */

const float RATE = @RATE@; // samples per second
const int AXES = 3;

static void read_sample(int16_t sample[AXES]) {
  sample[0] = (int16_t)analogRead(A0);
  sample[1] = (int16_t)analogRead(A1);
  sample[2] = (int16_t)analogRead(A2);
}

static unsigned long next_sample;

void setup() {
  Serial.begin(115200);
  next_sample = micros();
}

void loop() {
  if ((long)(micros() - next_sample) < 0) return;
  next_sample += (unsigned long)(1000000.0f / RATE);
  int16_t sample[AXES];
  const unsigned long now = micros();
  read_sample(sample);
  Serial.print(now);
  Serial.print(':');
  for (int axis = 0; axis < AXES; axis++) {
    if (axis > 0) Serial.print(',');
    Serial.print(sample[axis]);
  }
  Serial.print('\n');
}
