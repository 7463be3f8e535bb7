import Glibc
import Tandem
import TandemIO
import TandemWire
import Testing

/// An interruption between a client and its daemon.
enum Interruption: String, CaseIterable, Sendable {
    /// Connections end, and no new one succeeds for a while.
    case cut
    /// The connection stays open, but carries no more answers until it ends.
    case halfOpen
    case killed, terminated
    /// The listening socket belongs to systemd, and stays open while the daemon is restarted.
    case activated
    /// The client is disconnected for longer than the history is kept.
    case expired
    /// A restored backup replaces the store, under another epoch.
    case restored
    /// The wall clock jumps ahead and back, across a restart.
    case clock

    /// The interruptions that need no tools besides the programs.
    static let plain = allCases.filter { $0 != .clock }

    /// Whether the stream can't be resumed at the client's position.
    var losesHistory: Bool { self == .expired || self == .restored }
}

/// The changes and saves that an interrupted client receives: laws 2, 4 and 5.
@MainActor @Suite(.serialized) struct InterruptionTests {
    @Test(arguments: Interruption.plain)
    func `laws 2, 4 and 5: after an interruption a list has one change, and no save is missed`(
        _ interruption: Interruption
    ) async throws {
        try await interrupt(interruption)
    }

    @Test(.enabled(if: FakeTime.library != nil, "libfaketime is not installed"))
    func `laws 2, 4 and 5: the same holds after jumps of the daemon's clock across a restart`()
        async throws
    {
        try await interrupt(.clock)
    }

    private func interrupt(_ interruption: Interruption) async throws {
        let world = try InterruptedWorld(interruption)
        let list = try KeptList(world.proxy.transport)
        var heard = list.container.didSave.makeAsyncIterator()
        let before = try world.save(3)
        try list.reach(before)
        #expect(list.changes == 1)
        for number in before.number - 2...before.number {
            #expect(try await heard.next()?.position == before.at(number))
        }
        try world.interrupt()
        let end = try world.save(5)
        world.proxy.open()
        try list.reach(end)
        #expect(list.changes == 2 && list.problems.isEmpty, "\(list.problems)")
        try list.compare(world.place.socket)
        if interruption.losesHistory {
            #expect(list.missed.map(\.after) == [before] && list.missed.map(\.through) == [end])
            var code: TandemError.Code?
            do { _ = try await heard.next() } catch { code = (error as? TandemError)?.code }
            #expect(code == .historyExpired)
            heard = list.container.didSave.makeAsyncIterator()
        }
        let last = try world.save(1)
        try list.reach(last)
        #expect(list.changes == 3 && list.missed.count == (interruption.losesHistory ? 1 : 0))
        let first = interruption.losesHistory ? last.number : before.number + 1
        for number in first...last.number {
            #expect(try await heard.next()?.position == last.at(number))
        }
        #expect(list.heard == Array(before.number - 2...before.number) + Array(first...last.number))
        world.end()
    }
}

/// A daemon to be interrupted, and other clients that save.
@MainActor final class InterruptedWorld {
    let place: Place
    let proxy: LosingProxy
    private let interruption: Interruption
    private let time: FakeTime?
    private let listener: UnixListener?
    private var daemon: DaemonProcess
    private var saves = 0

    init(_ interruption: Interruption) throws {
        self.interruption = interruption
        place = try Place()
        proxy = LosingProxy(place.socket)
        time = interruption == .clock ? try FakeTime(place) : nil
        listener =
            interruption == .activated
            ? try UnixListener.listen(path: place.socket, mode: 0o600) : nil
        daemon = try Self.start(place, place.store, time, listener)
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        _ = try bridge.finish()
    }

    private static func start(
        _ place: Place, _ store: String, _ time: FakeTime?, _ listener: UnixListener?
    ) throws -> DaemonProcess {
        let options = [
            "--store", store, "--socket", place.socket, "--segment-kibibytes", "64",
            "--journal-keep", "1", "--journal-cap", "1",
        ]
        let daemon =
            if let time {
                try DaemonProcess("tandemd", [], wrapper: time.environment)
            } else {
                try DaemonProcess("tandemd", options, listener: listener?.descriptor)
            }
        let lines = daemon.readOutput { $0.contains("ready:") }
        try #require(lines.contains("ready:"), "the daemon did not start: \(lines)")
        return daemon
    }

    /// Saves `count` times with another client; returns the position of the last save.
    @discardableResult
    func save(_ count: Int, bytes: Int = 10) throws -> Position {
        let bridge = try BridgeProcess(place.socket)
        var last: Int64 = 0
        for _ in 0..<count {
            saves += 1
            let text = String(repeating: "z", count: bytes)
            let saved = try bridge.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(saves)", "#
                    + #""zone": "\#(saves % 3)", "site": "http://x/\#(text)"}}]}"#)
            last = saved["position"]?.int ?? 0
        }
        _ = try bridge.finish()
        return try position().at(UInt64(last))
    }

    private func position() throws -> Position {
        let client = try WireClient(place.socket, Hello())
        defer { client.close() }
        return client.cursor
    }

    /// Causes the interruption.
    func interrupt() throws {
        switch interruption {
        case .cut: proxy.shut()
        case .halfOpen:
            proxy.lose()
            try save(2)
            proxy.shut()
        case .killed: try replace(SIGKILL)
        case .terminated, .activated: try replace(SIGTERM)
        case .expired: try outlast()
        case .restored: try restore()
        case .clock:
            try time?.jump("+10y")
            try save(1)
            try replace(SIGTERM)
            try time?.jump("-20y")
        }
    }

    private func replace(_ signal: Int32, _ store: String? = nil) throws {
        #expect(daemon.end(signal) == (signal == SIGTERM ? 0 : -signal))
        daemon = try Self.start(place, store ?? place.store, time, listener)
    }

    /// Saves while the client is disconnected, until its position has expired.
    private func outlast() throws {
        let old = try position()
        proxy.shut()
        for _ in 0..<40 {
            try save(10, bytes: 20_000)
            let client = try WireClient(place.socket, Hello(resume: old, interests: ["Team"]))
            defer { client.close() }
            if !client.welcome.resumed { return }
        }
        Issue.record("the journal keeps everything")
    }

    private func restore() throws {
        proxy.shut()
        let (backup, again) = (place.path + "/backup", place.path + "/again")
        let made = try CommandRun("tandem", ["backup", backup, "-D", place.store])
        #expect(made.code == 0, "\(made.output)")
        // Saves that are not in the backup are lost by the restore.
        try save(2)
        let restored = try CommandRun("tandem", ["restore", backup, "--store", again])
        #expect(restored.code == 0, "\(restored.output)")
        try replace(SIGTERM, again)
    }

    func end() { #expect(daemon.end(SIGTERM) == 0) }
}

/// A list that is rebuilt from its changes alone, and an observer of the same saves.
@MainActor final class KeptList {
    let container: PersistentContainer
    private let context: ManagedObjectContext
    private let controller: FetchedResultsController<ManagedObject>
    private let keeper = Keeper()
    private let recorder = ObserverRecorder()
    private let observer: ContextObserver

    /// The saves and gaps that the observer received.
    private final class ObserverRecorder {
        var heard: [UInt64] = []
        var missed: [SaveGap] = []
    }

    var changes: Int { keeper.positions.count }
    var problems: [String] { keeper.problems }
    var heard: [UInt64] { recorder.heard }
    var missed: [SaveGap] { recorder.missed }

    init(_ transport: Transport) throws {
        var limits = ClientLimits()
        limits.connectMilliseconds = 60_000
        container = PersistentContainer(author: "list", transport: transport, limits: limits)
        context = container.makeContext(name: "list")
        controller = try Self.controller(context)
        controller.delegate = keeper
        let recorder = recorder
        observer = try context.observe("Team") { observation in
            switch observation {
            case .saved(let save): recorder.heard.append(save.payload.position.number)
            case .missed(let missed): recorder.missed.append(missed)
            case .failed(let error): Issue.record("\(error)")
            }
        }
    }

    private static func controller(
        _ context: ManagedObjectContext
    ) throws -> FetchedResultsController<ManagedObject> {
        let request = FetchRequest(entity: "Team", sort: [SortKey("zone"), SortKey("name")])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionNameKeyPath: "zone")
        try controller.performFetch()
        return controller
    }

    func reach(_ position: Position) throws {
        try context.reach(position, timeout: 60)
        #expect(controller.position == position && keeper.positions.last == position)
    }

    /// Compares the list built from the changes, the controller's list, and the list in a new
    /// container.
    func compare(_ socket: String) throws {
        let other = PersistentContainer(socket: socket, author: "fresh")
        let fresh = try Self.controller(other.makeContext(name: "fresh"))
        #expect(keeper.sections == sections(controller))
        #expect(sections(controller) == sections(fresh))
        other.close()
    }

    private func sections(_ controller: FetchedResultsController<ManagedObject>) -> [SectionIDs] {
        controller.sections.map {
            SectionIDs(name: $0.name, numbers: $0.objectIDs.map(\.number))
        }
    }

    /// A delegate that builds a list from the changes alone.
    private final class Keeper: FetchedResultsControllerDelegate {
        var sections: [SectionIDs] = []
        var positions: [Position] = []
        var problems: [String] = []

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChange change: ControllerChange
        ) {
            positions.append(change.position)
            do {
                sections = try change.change.apply(to: sections)
            } catch {
                problems.append("\(error)")
            }
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
        ) {
            problems.append("\(error)")
        }
    }
}
