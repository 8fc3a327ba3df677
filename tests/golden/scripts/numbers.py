# Random and floating-point numbers.
import cmath
import decimal
import fractions
import math
import random
import statistics
import struct

values = [random.random() for _ in range(1000)]
print(values[:3], random.sample(range(1000), 5), random.SystemRandom().getrandbits(64))
print(random.gauss(0, 1), random.expovariate(3), random.betavariate(2, 3), random.choices("abc", k=10))

random.seed(13)
values = [random.uniform(-1, 1) for _ in range(1000)]
print(math.fsum(values).hex(), sum(values).hex(), statistics.stdev(values).hex())
for function in (math.sin, math.tan, math.exp, math.erf, math.atan, math.sinh, math.cbrt):
    print(function.__name__, math.fsum(function(value) for value in values).hex())
for function in (math.log, math.sqrt, math.gamma, math.lgamma):
    print(function.__name__, math.fsum(function(2 + value) for value in values).hex())
print(cmath.exp(1 + 2j), (1.1 + 2.2j) ** (0.3 + 0.4j), 2.5**0.7, 1e16 + 1.0, round(2.675, 2))
print(decimal.Decimal(2).sqrt(), fractions.Fraction(0.1), struct.pack("<dfe", 0.1, 0.1, 0.1).hex())
matrix = [[random.random() for _ in range(20)] for _ in range(20)]
product = [[sum(a * b for a, b in zip(row, column)) for column in zip(*matrix)] for row in matrix]
print(sum(map(sum, product)).hex())
