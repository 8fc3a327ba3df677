# Hashes of every kind: seeded by the run, and not seeded at all.
import hashlib
import os
import secrets
import uuid
import zlib

words = [str(i) for i in range(50)]
print(hash("a string"), hash(b"bytes"), hash((1, "two", 3.0)))
print(set(words))
print(os.urandom(16).hex(), secrets.token_hex(16), uuid.uuid4())
for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s"):
    digest = hashlib.new(name, usedforsecurity=False)
    for word in words:
        digest.update(word.encode() * 1000)
    print(name, digest.hexdigest())
print(zlib.crc32(b"x" * 100000), zlib.adler32(b"y" * 100000), len(zlib.compress(" ".join(words).encode(), 9)))
