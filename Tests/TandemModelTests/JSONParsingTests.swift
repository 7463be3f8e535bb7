import FoundationEssentials
import TandemModel
import TestSupport
import Testing

/// The scanner of JSON texts, which returns what Foundation's decoder returns or defers to it.
@Suite struct JSONParsingTests {
    /// Compares both results as texts: equal doubles and zeros of both signs print differently.
    private func expectSame(_ text: String) {
        let parsed = (try? JSON(parsing: text)).map { "\($0)" }
        let decoded = (try? JSON(parsing: Data(text.utf8))).map { "\($0)" }
        #expect(parsed == decoded, "\(text)")
    }

    @Test(arguments: [
        "0", "-0", "1", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "12345678901234567890", "0.0", "-0.0", "0e5", "-0e5", "1.0", "-1.0", "1e5", "1E+5", "15e-1",
        "1.0000000000000001", "9007199254740991.0", "9007199254740992.0", "9007199254740993.0",
        "1e18", "1e19", "1e308", "1e309", "-1e400", "1e-308", "5e-324", "1e-400", "0.1",
        "0.30000000000000004",
        "123456789.123456789", "01", "-", "1.", ".5", "+1", "1e", "1e+", "--1", "0x10", "NaN",
        "Infinity", "1 2",
    ])
    func `numbers are parsed as by the decoder`(_ text: String) {
        expectSame(text)
        expectSame("[\(text)]")
        expectSame("{\"n\": \(text) , \"m\":\(text)}")
    }

    @Test(arguments: [
        #""""#, #""a""#, #""é\u00e9""#, #""\ud83c\udfc6""#, #""\ud83c""#, #""\udfc6""#,
        #""\ud83cx""#,
        #""\ud83c\u0041""#, #""\u0000""#, #""\u12""#, #""\u12g4""#, #""\"\\\/\b\f\n\r\t""#,
        #""\x""#, #""\"#, #"""#,
        "\"a\u{1}\"", "\"a\tb\"", "\"\u{7f}\u{202e}\"", "\u{feff}1", "\u{a0}1", " \t\r\n1\n", "",
        " ",
        "true", "false", "null", "tru", "nullx", "True", "[]", "[ ]", "[1,]", "[,1]", "[1 2]", "[1",
        "{}", "{ }",
        #"{"a":1,"a":2}"#, #"{"é":1,"e\u0301":2}"#, #"{"a":1,}"#, #"{"a"}"#, #"{a:1}"#,
        #"{"a":1 "b":2}"#,
        #"{"a":{"b":[{"c":null}]}} x"#, #"{"a" : [ 1 , "x" , true ] , "b" : { } }"#,
    ])
    func `texts are parsed as by the decoder`(_ text: String) { expectSame(text) }

    @Test func `deep nesting is left to the decoder`() {
        for depth in [64, 65, 512, 513] {
            expectSame(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
    }

    @Test func `mutated texts are parsed as by the decoder`() {
        var random = SplitMix64(seed: seed)
        let alphabet = Array(#"{}[]",:\/u0123456789.eE+-truefalsn "#.utf8) + [0x0a, 0xc3, 0xa9]
        let samples = [
            #"{"entity": "Team", "id": "Team/3", "values": {"name": "Qatar \u00e9\n", "rate": 1.5e3, "wins": -12}}"#,
            #"[{"id": "Team/3", "key": {"name": "A \"a\""}}, null, true, false, 1e5, 0.1, 9223372036854775807, -0.0]"#,
        ]
        for _ in 0..<Volume.of(4_000, deep: 200_000) {
            var bytes = Array(samples.randomElement(using: &random)?.utf8 ?? "".utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                let byte = alphabet.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = byte
                case 1: bytes.insert(byte, at: index)
                default: bytes.remove(at: index)
                }
            }
            expectSame(String(decoding: bytes, as: UTF8.self))
        }
    }
}
