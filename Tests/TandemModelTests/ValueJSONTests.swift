import TandemModel
import Testing

/// Values encoded as JSON and decoded.
@Suite struct ValueJSONTests {
    @Test func `infinite numbers have names, and NaN has one that is not parsed`() {
        for (number, name) in [(Double.infinity, "Infinity"), (-.infinity, "-Infinity")] {
            #expect(Value.double(number).json == .string(name))
            #expect(Value(json: .string(name), type: .double) == .double(number))
            #expect(Value(json: .string(name), type: .date) == nil)
        }
        #expect(Value.double(.nan).json == .string("NaN"))
        for text in ["NaN", "inf", "infinity", "+Infinity", " Infinity", "1", ""] {
            #expect(Value(json: .string(text), type: .double) == nil, "\(text)")
        }
    }

    @Test func `an infinite default is restored with its model`() throws {
        let model = Model(entities: [
            Entity("Team") { Attribute("rate", .double, default: .double(-.infinity)) }
        ])
        #expect(try Model(parsing: model.json.text) == model)
    }

    @Test(arguments: ["0", "-12.50", "+.5", "5.", "1e3", "1E-3"])
    func `decimal digits are a number`(text: String) {
        #expect(text[...].isDecimalNumber)
    }

    @Test(arguments: ["", "-", ".", "e3", "1e", "0x10", "0x1p3", "inf", "nan", "1_000", " 1", "1 "])
    func `other notations are refused`(text: String) {
        #expect(!text[...].isDecimalNumber)
    }
}
