// xoshiro.mjs - recovers the state of a xoshiro256** generator from ids that it made.
//
// An id carries the upper 62 bits of one number.  The scrambler can be inverted, so a whole number
// gives the word s1 of the state, and four of them in a row give all of it by linear steps:
//
//     s1' = s0 ^ s1 ^ s2    s0' = s0 ^ s1 ^ s3    s2' = s0 ^ s2 ^ (s1 << 17)
//     s3' = rotl(s1 ^ s3, 45)
//
// The two missing bits of each of the four are guessed; the fifth id tells which guess is right.
const MASK = (1n << 64n) - 1n;
const INVERSE_5 = 0xcccccccccccccccdn;
const INVERSE_9 = 0x8e38e38e38e38e39n;
const rotl = (x, bits) => ((x << bits) | (x >> (64n - bits))) & MASK;

const bitsOf = (id) => BigInt(`0x${id.slice(19).replace('-', '')}`) & ((1n << 62n) - 1n);
const middle = (number) => (rotl((number * INVERSE_9) & MASK, 57n) * INVERSE_5) & MASK;

function step([s0, s1, s2, s3]) {
    return [s0 ^ s1 ^ s3, s0 ^ s1 ^ s2, s0 ^ s2 ^ ((s1 << 17n) & MASK), rotl(s1 ^ s3, 45n)];
}

const numberOf = ([, s1]) => (rotl((s1 * 5n) & MASK, 7n) * 9n) & MASK;

// The state that gave four words s1 in a row, at the first of them.
function stateOf([a, b, c, d]) {
    const s0s2 = a ^ b;
    const s2AtB = s0s2 ^ ((a << 17n) & MASK);
    const s0AtB = c ^ b ^ s2AtB;
    const s2AtC = s2AtB ^ s0AtB ^ ((b << 17n) & MASK);
    const s0AtC = d ^ c ^ s2AtC;
    const s3AtB = s0AtC ^ s0AtB ^ b;
    const s3 = rotl(s3AtB, 19n) ^ a;
    const s0 = s0AtB ^ a ^ s3;
    return [s0, a, s0 ^ s0s2, s3];
}

// The 62 random bits of the id after these five; null: they do not come from such a generator.
export function nextIdBits(ids) {
    const known = ids.map(bitsOf);
    for (let guess = 0n; guess < 256n; guess++) {
        const words = known.slice(0, 4).map((bits, i) =>
            middle((bits << 2n) | ((guess >> BigInt(2 * i)) & 3n)));
        let state = stateOf(words);
        for (let i = 0; i < 4; i++) state = step(state);
        if (numberOf(state) >> 2n === known[4]) return numberOf(step(state)) >> 2n;
    }
    return null;
}
