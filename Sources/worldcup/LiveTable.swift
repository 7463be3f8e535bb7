import Tandem
import TandemIO

/// Displays the table of a results controller, and updates the display with each change.
///
/// On a terminal, the table is redrawn in place, with marks on the latest changes. Elsewhere, each
/// change is printed as a line.
@MainActor final class LiveTable: FetchedResultsControllerDelegate {
    private let controller: FetchedResultsController<Team>
    private let isQuiet: Bool
    private let isTerminal: Bool
    /// The sections that result from applying all changes; they must equal the controller's.
    private var replayed: [SectionIDs] = []
    /// The error that ended the updates, or a mismatch between changes and sections.
    private(set) var failure: String?

    /// Fetches the table and, unless `isQuiet`, displays it and all changes.
    init(_ container: PersistentContainer, isQuiet: Bool) async throws {
        self.isQuiet = isQuiet
        isTerminal = ThisProcess.isTerminal(StandardStream.output.descriptor)
        controller = try FetchedResultsController(
            fetchRequest: .table, context: container.viewContext, sectionNameKeyPath: \.zone)
        try await controller.performFetch()
        controller.delegate = self
        replayed = ids
        guard !isQuiet else { return }
        if isTerminal { StandardStream.output.write("\u{1b}[2J") }
        show(["\(text.count) teams in \(replayed.count) zones"], marks: [:])
    }

    /// The table as plain values.
    var text: TableText { TableText(zones: controller.sections.map(zone)) }

    private var ids: [SectionIDs] {
        controller.sections.map { section in
            SectionIDs(name: section.name, numbers: section.objectIDs.map(\.number))
        }
    }

    private func zone(_ section: FetchedResultsSection) -> TableText.Zone {
        let index = controller.sections.firstIndex { $0.name == section.name } ?? 0
        return TableText.Zone(
            name: section.name, rows: controller.objects(inSection: index).map(row))
    }

    private func row(_ team: Team) -> TableText.Row {
        TableText.Row(number: team.id.number, name: team.name, wins: team.wins)
    }

    // MARK: Changes

    nonisolated func controller(
        _ controller: FetchedResultsController<Team>, didChange change: ControllerChange
    ) {
        // The context belongs to the main actor, so its controllers call their delegates there.
        MainActor.assumeIsolated { changed(change) }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<Team>, didFailWith error: TandemError
    ) {
        MainActor.assumeIsolated { failure = error.message }
    }

    private func changed(_ change: ControllerChange) {
        do {
            replayed = try change.change.apply(to: replayed)
            if replayed != ids {
                failure = "the reported changes do not produce the table that is shown"
            }
        } catch {
            failure = error.description
        }
        guard !isQuiet else { return }
        var marks: [UInt64: String] = [:]
        for object in change.change.objects where object.to != nil {
            marks[object.number] = Self.mark(object)
        }
        show(lines(change.change).map { "\(change.position.number): \($0)" }, marks: marks)
    }

    private static func mark(_ object: ResultsChange.ObjectChange) -> String {
        guard let from = object.from, let to = object.to else { return "+" }
        return to < from ? "▲" : to > from ? "▼" : "●"
    }

    /// Returns a line for each section and object of a change.
    private func lines(_ change: ResultsChange) -> [String] {
        change.sections.map { section in
            switch section {
            case .delete(_, let name): "\(name) has no team left"
            case .insert(_, let name): "\(name) is a new zone"
            }
        } + change.objects.map(line)
    }

    private func line(_ object: ResultsChange.ObjectChange) -> String {
        guard let to = object.to else { return "team \(object.number) was removed" }
        let team = row(controller.object(at: to))
        let zone = controller.sections[to.section].name
        let wins = team.wins
        let name =
            "\(team.name), \(wins) \(wins == 1 ? "win" : "wins"),"
            + " is number \(to.item + 1) of \(zone)"
        guard let from = object.from else { return name + ", new" }
        return from == to ? name + " still" : name + ", was \(from.item + 1)"
    }

    // MARK: Showing

    private func show(_ news: [String], marks: [UInt64: String]) {
        guard isTerminal else {
            for line in news { say("table: \(line)") }
            return
        }
        let size = ThisProcess.terminalSize(StandardStream.output.descriptor) ?? (80, 24)
        let lines = text.lines(marks: marks) { "\u{1b}[1;32m\($0)\u{1b}[0m" }
        let body = TableText.columns(lines, width: size.columns, rows: size.rows - 3)
        let last = [news.last ?? "", ""]
        let screen = (last + body).map { $0 + "\u{1b}[K\r\n" }.joined()
        StandardStream.output.write("\u{1b}[H" + screen + "\u{1b}[J")
    }
}
