import Foundation
import FoundationXML
import Glibc
import Tandem
import TandemIO
import Testing

@testable import tandem

/// `tandem log --plot`: the chart as an image file, and as text in a terminal.
@Suite(.ownThread) struct PlotTests {
    private func log(_ journal: MadeJournal, _ arguments: String...) throws -> CommandRun {
        try CommandRun(
            path: "/usr/bin/env",
            ["TZ=\(MadeJournal.zone)", DaemonProcess.products + "/tandem", "log"] + arguments
                + ["-D", journal.store])
    }

    @Test func `image and text equal their golden files`() throws {
        let journal = try MadeJournal()
        let path = journal.place.path + "/plot.svg"
        #expect(try log(journal, "--plot", path).output == "")
        try Golden.expect(try String(contentsOfFile: path, encoding: .utf8), "plot.svg")
        let text = try log(journal, "--plot")
        try Golden.expect(text.output, "plot.text")
        #expect(try log(journal, "--plot", "-").output == text.output)
        #expect(text.lines.allSatisfy { $0.count <= 80 })
        try Golden.expect(try log(journal, "--plot", "author=setup", "--utc").output, "plot.setup")
    }

    @Test func `a chart without transactions says so`() throws {
        let journal = try MadeJournal()
        let path = journal.place.path + "/plot.svg"
        #expect(try log(journal, "--plot", path, "-t", "nobody").code == 0)
        let texts = try Drawn(try String(contentsOfFile: path, encoding: .utf8)).texts
        #expect(texts.map(\.text).contains("0 transactions, 0 changes"))
        #expect(try log(journal, "--plot", "-t", "nobody").output == "-- No entries --\n")
        let lost = try log(journal, "--plot", journal.place.path + "/no/such.svg")
        #expect(lost.code == 1 && lost.lines.count == 1, "\(lost.output)")
    }

    @Test func `a daemon's chart shows the latency of saves`() throws {
        let place = try Place()
        let daemon = try place.serve()
        defer { daemon.end(SIGTERM) }
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        try bridge.ask(#"{"do": "save", "ops": [{"insert": "Tag", "set": {"name": "a"}}]}"#)
        #expect(try bridge.finish() == .exited(0))
        let run = try CommandRun("tandem", ["log", "--plot", "--socket", place.socket])
        #expect(run.code == 0)
        #expect(run.output.contains("Save latency\n  p50 ≤ "), "\(run.output)")
        #expect(
            run.output.contains("saves since the daemon started") || run.output.contains("1 save"))
        #expect(!run.output.contains("of batches"))
        let other = try BridgeProcess(place.socket)
        let batch = try other.ask(
            #"{"do": "batch", "update": "Tag", "where": "name = 'a'", "set": {"name": "b"}}"#)
        #expect(batch["count"]?.int == 1)
        #expect(try other.finish() == .exited(0))
        let after = try CommandRun("tandem", ["log", "--plot", "--socket", place.socket])
        #expect(after.lines.first == "3 transactions (1 by batches), 2 changes", "\(after.output)")
        let stats = try CommandRun("tandem", ["log", "--stats", "--socket", place.socket])
        #expect(stats.lines.first?.hasPrefix("3 transactions (1 by batches), 2 changes") ?? false)
        let json = try CommandRun(
            "tandem", ["log", "--stats=author", "-o", "json", "--socket", place.socket]
        ).json.first
        #expect(json?["ofBatches"]?.int == 1 && json?["transactions"]?.int == 3)
    }

    /// Returns a chart with more of everything than there is room for.
    private func crowded() throws -> String {
        var made: [(time: Int64, author: String, entity: String, objects: Int)] = []
        for number in 0..<40 {
            let odd = "<b>&\"\u{1b}\u{0}\u{ffff}long \(number) author"
            let author = number.isMultiple(of: 2) ? "日本語の名前はとても長いです \(number)" : odd
            for day in 0..<30 {
                let second = Int64(1_790_000_000 + day * 86_400 + number * 600)
                let entity = "AnEntityWithAVeryLongNameIndeed\(number)"
                made.append((second * 1_000_000, author, entity, 100))
            }
        }
        let timeline = try MadeEntries.timeline(TimelineSVG.columns, made)
        let durations = try #require(
            Durations(
                bounds: [1, 1_000, 2_000, 60_000_000], counts: [0, 5, 3, 1, 1],
                longest: 90_000_000_000))
        var save = SaveDurations(between: durations)
        save.note = String(repeating: "note ", count: 18)
        let timelineStyle = TimelineStyle(
            isUTC: true, selection: String(repeating: "-t <someone> ", count: 40), durations: save)
        return TimelineSVG.text(timeline, timelineStyle)
    }

    @Test func `no text overlaps another one or lies outside the chart, for any names`() throws {
        for picture in [try crowded(), try golden()] {
            let drawn = try Drawn(picture)
            #expect(drawn.texts.count > 20)
            for (index, text) in drawn.texts.enumerated() {
                #expect(text.left >= 0 && text.right <= drawn.width, "\(text)")
                #expect(text.top >= 0 && text.bottom <= drawn.height, "\(text)")
                for other in drawn.texts[(index + 1)...] {
                    #expect(!text.overlaps(other), "\(text) and \(other)")
                }
            }
        }
    }

    private func golden() throws -> String {
        let journal = try MadeJournal()
        let path = journal.place.path + "/plot.svg"
        _ = try log(journal, "--plot", path)
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func `every colour of the light chart has a counterpart in the dark one`() throws {
        let styles = try golden().components(separatedBy: "@media (prefers-color-scheme:dark){")
        try #require(styles.count == 2)
        func colours(_ text: String) -> Set<String> {
            Set(
                text.split(separator: "\n").filter { $0.contains("#") }
                    .compactMap { $0.split(separator: "{").first.map(String.init) })
        }
        let light = colours(styles[0].components(separatedBy: "<style>")[1])
        #expect(light.count >= 8)
        #expect(light == colours(styles[1].components(separatedBy: "</style>")[0]))
    }
}

/// The texts of a chart with their bounds.
private final class Drawn: NSObject, XMLParserDelegate {
    struct Text: CustomStringConvertible {
        var text = ""
        var kind: String
        var x: Double
        var y: Double

        /// The font size; in the usual monospaced fonts, a letter is 0.602 times as wide.
        private var size: Double {
            kind.contains("title")
                ? 17 : kind.contains("heading") ? 13 : kind.contains("quiet") ? 11 : 12
        }
        private var width: Double { Double(text.cells) * size * 0.602 }
        var left: Double {
            x - (kind.contains("middle") ? width / 2 : kind.contains("end") ? width : 0)
        }
        var right: Double { left + width }
        var top: Double { y - size * 0.8 }
        var bottom: Double { y + size * 0.25 }
        var description: String { "`\(text)` at \(left) \(top) to \(right) \(bottom)" }

        func overlaps(_ other: Text) -> Bool {
            left < other.right && other.left < right && top < other.bottom && other.top < bottom
        }
    }

    private(set) var texts: [Text] = []
    private(set) var (width, height) = (0.0, 0.0)
    private var isInText = false

    init(_ picture: String) throws {
        super.init()
        let parser = XMLParser(data: Data(picture.utf8))
        parser.delegate = self
        try #require(parser.parse(), "\(String(describing: parser.parserError))")
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
        qualifiedName: String?, attributes: [String: String] = [:]
    ) {
        func number(_ key: String) -> Double { attributes[key].flatMap { Double($0) } ?? -1 }
        if name == "svg" { (width, height) = (number("width"), number("height")) }
        isInText = name == "text"
        guard isInText else { return }
        texts.append(Text(kind: attributes["class"] ?? "", x: number("x"), y: number("y")))
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if isInText { texts[texts.count - 1].text += string }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
        qualifiedName: String?
    ) { isInText = false }
}
