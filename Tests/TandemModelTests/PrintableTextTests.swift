import TandemModel
import Testing

/// The rule for displaying foreign text, and JSON texts that follow it.
@Suite struct PrintableTextTests {
    private static let scalars = (0...0x10_ffff).compactMap { (value: UInt32) in
        Unicode.Scalar(value)
    }

    @Test
    func `nothing that moves a cursor, ends a line, turns its direction or hides is printable`() {
        // Joiners and the variation selectors of Mongolian.
        let joiners: Set<UInt32> = [0x200c, 0x200d, 0x180b, 0x180c, 0x180d, 0x180f]
        for scalar in Self.scalars {
            let properties = scalar.properties
            let isControl = [.control, .lineSeparator, .paragraphSeparator].contains(
                properties.generalCategory)
            let isHidden =
                properties.isDefaultIgnorableCodePoint && !joiners.contains(scalar.value)
                && !(0xfe00...0xfe0f).contains(scalar.value)
            let isAnnotation = (0xfff9...0xfffb).contains(scalar.value)
            let isUnprintable =
                isControl || isHidden || isAnnotation || properties.isBidiControl
            if scalar.isPrintable == isUnprintable { Issue.record("\(scalar.hexEscape)") }
        }
    }

    @Test func `every scalar round-trips through JSON, which itself is printable`() throws {
        var text = String.UnicodeScalarView()
        for scalar in Self.scalars where scalar.value < 0x3200 || !scalar.isPrintable {
            text.append(scalar)
        }
        let json = JSON.string(String(text))
        #expect(json.text.isPrintable)
        let parsed = try JSON(parsing: json.text)
        #expect(parsed.string.map { Array($0.utf8) } == Array(String(text).utf8))
        #expect(
            JSON.string("\u{9b}2J\u{202e}\u{2028}é\u{e0041}\u{7f}").text
                == #""\u009b2J\u202e\u2028é\udb40\udc41\u007f""#)
    }

    @Test func `each unprintable scalar is replaced by one replacement character`() {
        #expect("a\u{1b}[2J\r\nb\u{202e}".printable == "a\u{fffd}[2J\u{fffd}\u{fffd}b\u{fffd}")
        #expect("日本 é 👩‍👩‍👧 ⚽️".printable == "日本 é 👩‍👩‍👧 ⚽️")
    }

    @Test func `a model has no unprintable names`() {
        #expect(throws: (any Error).self) {
            try CompiledModel(
                ManagedObjectModel { Entity("Te\u{202e}am") { Attribute("name", .string) } })
        }
        #expect(throws: (any Error).self) {
            try CompiledModel(
                ManagedObjectModel { Entity("Team") { Attribute("na\u{9b}me", .string) } })
        }
    }
}
