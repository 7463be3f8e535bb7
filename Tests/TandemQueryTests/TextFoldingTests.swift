import TandemQuery
import TestSupport
import Testing

struct TextFoldingTests {
    private func folded(_ text: String) -> String {
        String(decoding: TextFolding.caseFolded(text), as: UTF8.self)
    }

    @Test(arguments: [
        ("ABCz[", "abcz["), ("Straße", "strasse"), ("STRAẞE", "strasse"), ("ΣΑΣ", "σασ"),
        ("σας", "σασ"),
        ("ﬁn", "fin"), ("İ", "i\u{307}"), ("ı", "ı"), ("K", "k"), ("µ", "μ"), ("ᾳ", "αι"),
        ("ꭰ", "Ꭰ"),
        ("Ꭰ", "Ꭰ"), ("ᏸ", "Ᏸ"), ("Ǆ", "ǆ"), ("ŉ", "ʼn"), ("𐐀", "𐐨"), ("", ""),
    ])
    func `case folding is Unicode's full folding`(_ text: String, _ expected: String) {
        #expect(folded(text).unicodeScalars.elementsEqual(expected.unicodeScalars))
    }

    @Test func `case folding is stable for all scalars`() {
        // No scalar above the second plane has a case mapping; of these only some are tested.
        let others = stride(
            from: 0x2_0000 + UInt32(seed % 97), through: 0x10_ffff, by: Volume.of(97, deep: 1))
        for value in Array(UInt32(0)..<0x2_0000) + others {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let once = folded(String(scalar))
            #expect(folded(once).utf8.elementsEqual(once.utf8), "U+\(String(value, radix: 16))")
        }
    }

    @Test(arguments: [
        ("é", "e"), ("e\u{301}", "e"), ("Ångström", "Angstrom"), ("ﬁ", "ﬁ"), ("plain", "plain"),
    ])
    func `diacritics are removed`(_ text: String, _ expected: String) {
        #expect(String(decoding: TextFolding.diacriticFolded(text), as: UTF8.self) == expected)
    }

    @Test func `case and diacritics are folded together`() {
        #expect(TextFolding.folded("ÅNGSTRÖM Straße") == Array("angstrom strasse".utf8))
    }
}
