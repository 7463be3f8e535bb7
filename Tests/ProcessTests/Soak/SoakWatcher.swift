import TandemIO
import TandemModel
import TestSupport

/// The saves that a watcher received in one life.
struct WatchedLife {
    var name: String
    /// The position after which saves were received.
    var from: UInt64
    /// The position up to which all saves were received.
    var through: UInt64
    var heard: [UInt64] = []
    /// The ranges of saves that were reported as missed.
    var missed: [ClosedRange<UInt64>] = []
    /// Whether the watcher was killed before it had caught up at the end.
    var wasKilled = false
}

/// A client that keeps lists from the changes that a bridge reports, and compares them with
/// fetches.
///
/// The bridge may be killed or stopped.
final class SoakWatcher: Sendable {
    let target = SoakTarget()
    let name: String
    private let seed: UInt64
    private let traffic: SoakTraffic
    private let state = Locked((lives: [WatchedLife](), comparisons: 0))

    init(_ number: Int, _ traffic: SoakTraffic) {
        name = "watcher\(number)"
        seed = traffic.seed &+ 2_000 &+ UInt64(number)
        self.traffic = traffic
    }

    var lives: [WatchedLife] { state.withLock { $0.lives } }
    var comparisons: Int { state.withLock { $0.comparisons } }

    /// Watches until the end of the soak, in a new life after each kill.
    func run() {
        var random = SplitMix64(seed: seed)
        do {
            while !traffic.hasEnded { try live(&random) }
        } catch {
            traffic.report("\(name): \(error)")
        }
    }

    private func live(_ random: inout SplitMix64) throws {
        let bridge = try BridgeProcess(
            traffic.place.socket, author: name, cachedRows: 1_024)
        target.begin(bridge.processID)
        defer { target.end(bridge) }
        guard var watch = try SoakWatch(name, bridge) else { return }
        defer { keep(watch) }
        while !traffic.ends(within: traffic.pace * 8) {
            guard try watch.turn(Int.random(in: 0..<8, using: &random)) else { return }
            let made = watch.takeComparisons()
            state.withLock { $0.comparisons += made }
        }
        try watch.finish()
    }

    private func keep(_ watch: SoakWatch) {
        state.withLock { state in
            state.lives.append(watch.life)
            state.comparisons += watch.comparisons
        }
    }
}

/// The lists of one life of a watcher.
struct SoakWatch {
    /// Lists that need related objects, verdicts, and a window.
    private static let requests: [(name: String, request: JSON, sections: String?)] = [
        ("zones", ["entity": "Item", "sort": ["bucket.name", "-size"]], "bucket.name"),
        (
            "starred",
            ["entity": "Item", "where": "ANY tags.name = 'a'", "sort": ["-size", "name"]], nil
        ),
        (
            "top",
            ["entity": "Item", "where": "bucket.rank > 2", "sort": ["name"], "limit": .int(10)],
            nil
        ),
    ]

    private let bridge: BridgeProcess
    private var lists: [String: FoldedList] = [:]
    private var isLost = false
    private(set) var life: WatchedLife
    private(set) var comparisons = 0

    /// Opens the lists; returns nil if the bridge was killed before all were open.
    init?(_ name: String, _ bridge: BridgeProcess) throws {
        self.bridge = bridge
        life = WatchedLife(name: name, from: 0, through: 0)
        let observe: JSON = ["do": "observe", "observer": "o", "entity": "Item"]
        guard let observed = try ask(observe) else { return nil }
        life.from = UInt64(observed["position"]?.int ?? 0)
        life.through = life.from
        for (name, request, sections) in Self.requests {
            let members: JSON = [
                "do": "open", "controller": .string(name),
                "sections": sections.map(JSON.string) ?? .null,
            ]
            // The lists that are already open have to be kept up to date while this one is opened.
            guard let answer = try ask(members.merging(request)) else { return nil }
            lists[name] = FoldedList(answer)
        }
    }

    /// Returns the number of comparisons since the last call.
    mutating func takeComparisons() -> Int {
        defer { comparisons = 0 }
        return comparisons
    }

    /// Makes one more request; returns false if the bridge was killed.
    mutating func turn(_ choice: Int) throws -> Bool {
        switch choice {
        case 0: return try ask(["do": "pause"]) != nil
        case 1, 2: return try ask(["do": "resume"]) != nil
        case 3: return try compareSections(Self.requests[0].name)
        default: return try compare(Self.requests[choice % Self.requests.count])
        }
    }

    /// Catches up with the journal and compares all lists.
    mutating func finish() throws {
        guard try ask(["do": "resume"]) != nil else { return }
        for request in Self.requests {
            guard try compare(request), try compareSections(request.name) else { return }
        }
    }

    /// Checks law 4: the list that was kept up to date equals a fetched one at the position of the
    /// answer.
    private mutating func compare(
        _ list: (name: String, request: JSON, sections: String?)
    ) throws -> Bool {
        let request: JSON = ["do": "fetch", "properties": ["name"]]
        guard let answer = try ask(request.merging(list.request)) else { return false }
        let kept = lists[list.name]?.objects ?? []
        comparisons += 1
        if kept != answer.ids {
            throw FoldedList.Problem(
                description: "law 4: \(list.name) has \(kept), fetched at "
                    + "\(answer["position"] ?? .null) is \(answer.ids)")
        }
        return true
    }

    /// Checks law 5: the list made from the changes equals the one that the controller shows.
    private mutating func compareSections(_ name: String) throws -> Bool {
        let request: JSON = ["do": "sections", "controller": .string(name)]
        guard let answer = try ask(request) else { return false }
        let (kept, shown) = (lists[name]?.sections ?? [], FoldedList.sections(answer))
        comparisons += 1
        if kept != shown {
            throw FoldedList.Problem(description: "law 5: \(name) has \(kept), not \(shown)")
        }
        return true
    }

    /// Repeats a request until the answer is not a transient error; returns nil if the bridge was
    /// killed.
    private mutating func ask(_ request: JSON) throws -> JSON? {
        for _ in 0..<100 {
            let answer = try bridge.answerUnlessEnded(request)
            for event in bridge.drainEvents() { try handle(event) }
            guard let answer else {
                life.wasKilled = true
                return nil
            }
            if let ok = answer["ok"] {
                life.through = max(life.through, UInt64(ok["position"]?.int ?? 0))
                return ok
            }
            guard isTransient(answer) else {
                throw FoldedList.Problem(description: "\(request) is answered \(answer)")
            }
        }
        throw FoldedList.Problem(description: "\(request) gets no answer")
    }

    private mutating func handle(_ event: JSON) throws {
        let position = UInt64(event["position"]?.int ?? 0)
        switch event["event"]?.string {
        case "change": try apply(event)
        case "save": life.heard.append(position)
        case "connection":
            if let missed = event["missed"] {
                life.missed.append((UInt64(missed["after"]?.int ?? 0) + 1)...position)
                return
            }
            let isLostNow = event["state"] == "lost"
            guard isLostNow != isLost else {
                throw FoldedList.Problem(description: "\(event) comes twice")
            }
            isLost = isLostNow
        default: throw FoldedList.Problem(description: "an event: \(event)")
        }
    }
}

extension SoakWatch {
    private mutating func apply(_ event: JSON) throws {
        let name = event["controller"]?.string ?? ""
        guard var list = lists[name] else {
            throw FoldedList.Problem(description: "a change of a list that is not open: \(event)")
        }
        try list.apply(event)
        lists[name] = list
    }
}

extension JSON {
    /// Returns an object with the members of both objects; those of `other` take precedence.
    func merging(_ other: JSON) -> JSON {
        .object((object ?? [:]).merging(other.object ?? [:]) { _, new in new })
    }
}
