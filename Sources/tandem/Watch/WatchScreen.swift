import Tandem

/// A watched list drawn for a terminal of a given size.
struct WatchScreen {
    var style: Style
    var width: Int
    var height: Int

    /// The content to draw; only the visible rows are requested.
    struct Content {
        var title: String
        var count: String
        var hasSections: Bool
        /// The names of the sections, and their numbers of rows.
        var sections: [(name: String, rows: Int)]
        var row: (ResultsIndexPath) -> WatchRow?
    }

    /// Returns the lines to draw: the title, a summary of the last changes, and as many rows as
    /// fit, including the first changed one.
    func lines(_ content: Content, _ change: WatchChange) -> [String] {
        let lag = change.lagMicroseconds.map { ", shown \(Self.time($0)) after its save" } ?? ""
        let head = [
            cut("\(content.title): \(content.count), position \(change.position)\(lag)"),
            cut(Self.summary(change.lines)),
        ]
        let places = Self.places(content)
        let room = max(1, height - head.count - 2)
        let marks = change.marks
        guard places.count > room else { return head + places.map { line($0, content, marks) } }
        let changed = change.firstPath.flatMap { path in places.firstIndex { $0 == .row(path) } }
        let start = Self.start(of: room, in: places.count, showing: changed)
        let end = start + room
        return head + places[start..<end].map { line($0, content, marks) }
            + [cut("\(start) lines above, \(places.count - end) below")]
    }

    private enum ScreenLine: Equatable {
        case section(String)
        case row(ResultsIndexPath)
    }

    /// Returns the content of every line, visible or not.
    private static func places(_ content: Content) -> [ScreenLine] {
        content.sections.enumerated().flatMap { index, section in
            (content.hasSections ? [ScreenLine.section(section.name)] : [])
                + (0..<section.rows).map { .row(ResultsIndexPath(section: index, item: $0)) }
        }
    }

    private func line(
        _ place: ScreenLine, _ content: Content, _ marks: [ObjectNumber: String]
    ) -> String {
        switch place {
        case .section(let name): return style.paint(cut(name), .name)
        case .row(let path):
            guard let row = content.row(path) else { return "" }
            let mark = marks[row.id.number]
            let text = cut("\(mark ?? " ") \(row.id.description.padded(to: 12))\(row.text)")
            return mark.map { style.paint(text, Self.role($0)) } ?? text
        }
    }

    /// Returns the index of the first visible line: 0, or the one that centres the
    /// changed line.
    static func start(of room: Int, in count: Int, showing changed: Int?) -> Int {
        guard let changed, changed >= room else { return 0 }
        return min(max(0, changed - room / 2), count - room)
    }

    private static func role(_ mark: String) -> Style.Role {
        mark == "+" ? .insert : mark == "●" ? .update : .touch
    }

    private static func summary(_ change: [String]) -> String {
        guard let last = change.last else { return "" }
        return change.count == 1 ? last : "\(last) (and \(change.count - 1) more)"
    }

    private static func time(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1_000: "\(microseconds) µs"
        case ..<10_000_000: "\(microseconds / 1_000) ms"
        default: "\(microseconds / 1_000_000) s"
        }
    }

    private func cut(_ text: String) -> String {
        text.printable.cut(toCells: width - 1)
    }
}
