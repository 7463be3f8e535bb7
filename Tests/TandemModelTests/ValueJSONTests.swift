import Foundation
import TandemModel
import Testing

/// Values encoded as JSON and decoded, and their texts.
@Suite struct ValueJSONTests {
    @Test func `infinite numbers have names, and NaN has one that is not parsed`() {
        for (number, name) in [(Double.infinity, "Infinity"), (-.infinity, "-Infinity")] {
            #expect(PropertyValue.double(number).json == .string(name))
            #expect(PropertyValue(json: .string(name), type: .double) == .double(number))
            #expect(PropertyValue(json: .string(name), type: .date) == nil)
        }
        #expect(PropertyValue.double(.nan).json == .string("NaN"))
        for text in ["NaN", "inf", "infinity", "+Infinity", " Infinity", "1", ""] {
            #expect(PropertyValue(json: .string(text), type: .double) == nil, "\(text)")
        }
    }

    @Test func `an infinite default is restored with its model`() throws {
        let model = ManagedObjectModel(entities: [
            Entity("Team") { Attribute("rate", .double, default: .double(-.infinity)) }
        ])
        #expect(try ManagedObjectModel(parsing: model.json.text) == model)
    }

    @Test(arguments: ["0", "-12.50", "+.5", "5.", "1e3", "1E-3"])
    func `decimal digits are a number`(text: String) {
        #expect(text[...].isDecimalNumber)
    }

    @Test(arguments: ["", "-", ".", "e3", "1e", "0x10", "0x1p3", "inf", "nan", "1_000", " 1", "1 "])
    func `other notations are refused`(text: String) {
        #expect(!text[...].isDecimalNumber)
    }

    @Test func `values print as people read them`() throws {
        let uuid = try #require(UUID(uuidString: "6D31CAFE-0000-4000-8000-00000000BEEF"))
        let texts: [(PropertyValue, String)] = [
            (.null, "null"), (.bool(true), "true"), (.int(-4), "-4"), (.double(0.5), "0.5"),
            (.decimal(12.25), "12.25"), (.string("Côte d'Ivoire"), "Côte d'Ivoire"),
            (.url("file:///a b"), "file:///a b"), (.date(1.5), "1970-01-01T00:00:01Z"),
            (.data([1, 2]), "2 bytes"), (.uuid(uuid), uuid.uuidString),
            (.string(String(repeating: "é", count: 90_000)).inRow, "text of 180000 bytes"),
            (.reference(ObjectReference(tag: 3, number: 7)), "#7"),
        ]
        for (value, text) in texts { #expect("\(value)" == text) }
        // Dates that a calendar can't represent are printed as its last one.
        #expect("\(PropertyValue.date(1e300))" == "\(PropertyValue.date(1e18))")
    }
}
