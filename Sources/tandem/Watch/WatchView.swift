import Tandem
import TandemIO

/// Displays the list of a results controller, and updates the display with each change.
@MainActor final class WatchView: FetchedResultsControllerDelegate {
    /// The shortest time between two requests for the time of a save, in nanoseconds, so that the
    /// requests do not slow down a burst of saves.
    private static let lagPause: UInt64 = 50_000_000

    private let container: PersistentContainer
    private let request: WatchRequest
    private let isJSON: Bool
    private let style: Style
    private let isTerminal: Bool
    private let lines = LineOutput(flushesLines: true)
    private let clock = SystemClock()
    private var controller: FetchedResultsController<ManagedObject>?
    private var lagAskedAt: UInt64 = 0
    /// The content of the terminal, and the size for which it was drawn.
    private var shown: (latestChange: WatchChange, size: (columns: Int, rows: Int))?
    /// The error after which the list is no longer updated.
    private(set) var failure: CommandFailure?

    init(_ container: PersistentContainer, _ request: WatchRequest, isJSON: Bool, style: Style) {
        self.container = container
        self.request = request
        self.isJSON = isJSON
        self.style = style
        isTerminal = !isJSON && ThisProcess.isTerminal(StandardStream.output.descriptor)
    }

    /// Fetches and displays the list; throws if the daemon rejects the request.
    func open() async throws {
        let controller = try FetchedResultsController(
            fetchRequest: request.request, context: container.viewContext,
            sectionNameKeyPath: request.section)
        self.controller = controller
        try await controller.performFetch()
        controller.delegate = self
        if isTerminal {
            StandardStream.output.write("\u{1b}[2J")
            draw(controller, WatchChange(position: controller.position?.number ?? 0))
        } else if isJSON {
            lines.line(list(controller).json.text)
        } else {
            list(controller).lines.forEach(lines.line)
        }
        container.onConnectionNotice { notice in
            guard case .connection(let event) = notice else { return }
            switch event.state {
            case .lost: Self.remark("the daemon does not answer; waiting for the daemon")
            case .restored: Self.remark("the daemon answers again")
            default: break
            }
        }
    }

    /// Waits until everything up to a position is displayed.
    func reach(_ position: Position) async throws {
        _ = try await container.viewContext.reach(position)
    }

    /// Throws ``CommandFailure`` if the list is no longer updated.
    func checkFollows() throws {
        guard let failure else { return }
        throw CommandFailure(
            "the list can no longer be updated: \(failure.message)", code: failure.code)
    }

    nonisolated private static func remark(_ text: String) {
        printRemark(text)
    }

    // MARK: Changes

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        // The context belongs to the main actor, so its controllers call their delegates there.
        MainActor.assumeIsolated { changed(change) }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
    ) {
        MainActor.assumeIsolated { failed(error) }
    }

    /// Handles an error of the controller.
    ///
    /// A list with sections out of order recovers by itself; after any other error, the list is no
    /// longer updated.
    private func failed(_ error: TandemError) {
        guard error.code != .outOfOrderSection else { return Self.remark(error.message) }
        failure = CommandFailure(error)
    }

    private func changed(_ change: ControllerChange) {
        guard let controller, !change.change.isEmpty else { return }
        var latestChange = WatchChange(change, rows: rows(of: change, controller))
        latestChange.sectionNames = controller.sections.map(\.name)
        if isTerminal || isJSON { latestChange.lagMicroseconds = lag(change.position.number) }
        if isTerminal {
            draw(controller, latestChange)
        } else if isJSON {
            lines.line(latestChange.json.text)
        } else {
            latestChange.lines.forEach(lines.line)
        }
    }

    /// Returns the age of a transaction in microseconds, or nil if the last request was made less
    /// than ``lagPause`` ago.
    private func lag(_ position: UInt64) -> Int64? {
        let now = clock.monotonicNanoseconds
        guard now - lagAskedAt >= Self.lagPause else { return nil }
        lagAskedAt = now
        let page = try? container.history(after: position - 1, limit: 1)
        return page?.transactions.first.map { max(0, clock.wallMicroseconds - $0.time) }
    }

    // MARK: Rows

    private func list(_ controller: FetchedResultsController<ManagedObject>) -> WatchList {
        let sections = controller.sections.enumerated().map { index, section in
            WatchList.Section(
                name: section.name,
                rows: (0..<section.numberOfObjects).map { item in
                    row(controller, ResultsIndexPath(section: index, item: item))
                })
        }
        return WatchList(
            title: request.title, hasSections: request.section != nil,
            position: controller.position?.number ?? 0, sections: sections)
    }

    /// Returns the changed rows by the number of the object.
    private func rows(
        of change: ControllerChange, _ controller: FetchedResultsController<ManagedObject>
    ) -> [ObjectNumber: WatchRow] {
        var rows: [ObjectNumber: WatchRow] = [:]
        for object in change.change.objects {
            guard let to = object.to else { continue }
            rows[object.number] = row(controller, to)
        }
        return rows
    }

    private func row(
        _ controller: FetchedResultsController<ManagedObject>, _ path: ResultsIndexPath
    ) -> WatchRow {
        let snapshot = controller.object(at: path).snapshot
        let model = try? container.compiledModel()
        let values = snapshot.values.filter { request.properties?.contains($0.key) ?? true }
        return WatchRow(
            id: snapshot.id,
            values: values.mapValues { value in
                model.map { ValueText.json(value, $0) } ?? value.json
            })
    }

    /// Draws the list again if the terminal's size has changed.
    func fitTerminal() {
        guard let controller, let shown, shown.size != Self.terminalSize else { return }
        draw(controller, shown.latestChange)
    }

    private static var terminalSize: (columns: Int, rows: Int) {
        ThisProcess.terminalSize(StandardStream.output.descriptor) ?? (80, 24)
    }

    private func draw(
        _ controller: FetchedResultsController<ManagedObject>, _ latestChange: WatchChange
    ) {
        let size = Self.terminalSize
        shown = (latestChange, size)
        let sections = controller.sections.map { ($0.name, $0.numberOfObjects) }
        let hasSections = request.section != nil
        let content = WatchScreen.Content(
            title: request.title,
            count: WatchList.count(
                rows: controller.numberOfObjects, sections: hasSections ? sections.count : nil),
            hasSections: hasSections, sections: sections
        ) { path in self.row(controller, path) }
        let body = WatchScreen(style: style, width: size.columns, height: size.rows)
            .lines(content, latestChange)
        let screen = body.map { PlainSymbols.shown($0) + "\u{1b}[K\r\n" }.joined()
        StandardStream.output.write("\u{1b}[H" + screen + "\u{1b}[J")
    }
}

extension WatchRequest {
    /// The description of the watched list.
    var title: String {
        request.predicate.map { "\(request.entity) where \($0)" } ?? request.entity
    }
}
