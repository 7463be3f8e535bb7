import FoundationEssentials
import TandemIO
import TandemModel
import TestSupport
import Testing

/// Recorded lives of daemons on one store, from which crash images are made.
struct World {
    /// One life of a daemon.
    struct Life {
        /// The faults to inject; see `Recorder/recorder.c`.
        var faults = ""
        /// The number of client actions.
        var steps = 20
        /// Whether the daemon is stopped regularly; otherwise it is killed.
        var isStopped = true
        var durability = "full"
    }

    /// The end of a life.
    struct Outcome {
        let status: ChildProcess.Status
        /// The daemon's output.
        let text: String
        /// The faults that were injected.
        let faults: [String]
    }

    let seed: UInt64
    let scratch: Scratch
    let place: FaultPlace
    private(set) var records: [Recording.Record] = []
    private var workload: Workload
    /// The positions and numbers that clients knew before the recording.
    private let past: DisclosedState
    /// A copy of the files at the beginning, if there were any.
    private let beginning: String?

    /// Creates a world with a new store.
    init(seed: UInt64, in scratch: Scratch) throws {
        self.seed = seed
        self.scratch = scratch
        place = try FaultPlace(scratch)
        workload = Workload(place, seed: seed)
        past = DisclosedState()
        beginning = nil
    }

    /// Creates a world with a store in its state after a power cut.
    init(after image: Image, seed: UInt64) throws {
        self.seed = seed
        scratch = try Scratch(inMemory: true)
        let copy = scratch.path + "/beginning"
        try FileManager.default.copyItem(atPath: image.place.disk, toPath: copy)
        try FileManager.default.copyItem(
            atPath: image.place.disk, toPath: scratch.path + "/disk")
        place = try FaultPlace(scratch)
        workload = Workload(place, seed: seed, name: "w\(seed)")
        past = DisclosedState(image.disclosed.position, numbersBelow: image.disclosed.numbersBelow)
        beginning = copy
    }

    /// Creates a world after one life, by default without faults.
    static func ordinary(seed: UInt64, steps: Int, faults: String = "") throws -> World {
        try ordinary(seed: seed, steps: steps, faults: faults, in: try Scratch(inMemory: true))
    }

    static func ordinary(
        seed: UInt64, steps: Int, faults: String = "", in scratch: Scratch
    ) throws -> World {
        var world = try World(seed: seed, in: scratch)
        let life = Life(faults: faults, steps: steps, isStopped: seed % 2 == 0)
        let outcome = try world.live(life)
        try #require(
            outcome.status == (life.isStopped ? .exited(0) : .signalled(9)), "\(outcome.text)")
        return world
    }

    // MARK: Lives

    /// Runs a daemon until its clients are done or it ends.
    @discardableResult
    mutating func live(_ life: Life) throws -> Outcome {
        let daemon = try RecordedDaemon(place, faults: life.faults, durability: life.durability)
        var isAlive = daemon.isServing
        if isAlive {
            do {
                try workload.begin()
                for _ in 0..<life.steps { try workload.step() }
            } catch is TandemError {
                Issue.record("TANDEM_SEED=\(seed): an answer cannot be understood")
            } catch is FaultClient.Refused {
                // The daemon continues, read-only, until it is ended below.
            } catch {
                // The fault ended the daemon.
                isAlive = false
            }
        }
        if isAlive { life.isStopped ? daemon.terminate() : daemon.kill() }
        let status = daemon.wait()
        let recording = Recording(log: Scratch.file(place.log) ?? [])
        if !records.isEmpty { records.append(.restart) }
        records += recording.records
        return Outcome(status: status, text: daemon.text, faults: recording.faults)
    }

    /// Recovers the store, and returns whatever contradicts the answers that clients received.
    func violations() -> (found: [String], reference: Reference?) {
        do {
            try Recovered.recover(place.store)
            let found = try Recovered(place.store)
            let reference = try Reference(found.encoded)
            var violations = try workload.violations(in: found)
            if found.hash != reference.hashes[found.encoded.count] {
                violations.append("law 6: the store is not the journal's replay")
            }
            return (violations, reference)
        } catch {
            return (["refused: \(error)"], nil)
        }
    }

    // MARK: Images

    /// A crash image: the moment of the crash, and what the crash kept.
    struct Image {
        let place: FaultPlace
        let disclosed: DisclosedState
        let cut: Int
        let luck: UInt64
    }

    /// Calls `body` with crash images at random points of the recording, in order.
    func images(_ count: Int, _ body: (Image) throws -> Void) throws {
        var random = SplitMix64(seed: seed ^ 0xfeed)
        let cuts = (0..<count).map { _ in Int.random(in: 0...records.count, using: &random) }
        try images(at: cuts, nil, body)
    }

    /// Calls `body` with a crash image at the end of each life, without unsynced data.
    func imagesOfEnds(_ body: (Image) throws -> Void) throws {
        let ends = records.indices.filter { if case .restart = records[$0] { true } else { false } }
        try images(at: ends + [records.count], .losesAll, body)
    }

    private func images(
        at cuts: [Int], _ kind: CrashOutcome.Kind?, _ body: (Image) throws -> Void
    ) throws {
        var random = SplitMix64(seed: seed ^ 0xbeef)
        var disk =
            try beginning.map { try Disk(root: place.disk, filledFrom: $0) }
            ?? Disk(root: place.disk)
        var disclosed = past
        for (number, cut) in cuts.sorted().enumerated() {
            for record in records[disk.played..<cut] {
                disk.play(record)
                try disclosed.play(record)
            }
            var luck = random.next()
            while let kind, CrashOutcome(seed: luck, played: cut).kind != kind {
                luck = random.next()
            }
            let directory = scratch.path + "/image\(number)"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try disk.crash(into: directory, seed: luck)
            let place = try FaultPlace(scratch, disk: directory)
            try body(Image(place: place, disclosed: disclosed, cut: cut, luck: luck))
        }
    }

    /// Recovers images, and returns the violations.
    func violations(ofImages count: Int, against reference: Reference) throws -> [String] {
        var found: [String] = []
        try images(count) { found += violations(of: $0, against: reference) }
        return found
    }

    func violations(of image: Image, against reference: Reference) -> [String] {
        let check = ImageCheck(
            store: image.place.store, disclosed: image.disclosed, reference: reference)
        return check.violations().map { "\(name(image)): \($0)" }
    }

    func name(_ image: Image) -> String {
        let kind = CrashOutcome(seed: image.luck, played: image.cut).kind
        return "seed \(seed), cut at \(image.cut) of \(records.count), luck \(image.luck) (\(kind))"
    }

    /// Recovers an image under the recorder, crashes that recovery at random moments, and returns
    /// the violations in the results.
    func violationsAfterCrashedRecovery(
        of image: Image, against reference: Reference, cuts: Int
    ) throws -> [String] {
        var disk = try Disk(root: image.place.disk, filledFrom: image.place.disk)
        let daemon = try RecordedDaemon(image.place)
        guard daemon.isServing else { return ["\(name(image)): refused: \(daemon.text)"] }
        // Connecting takes a lease; a store without a model would also receive one, which would
        // change its history.
        if image.disclosed.position > 0 { try FaultClient(image.place.socket).close() }
        daemon.kill()
        let records = Recording(log: Scratch.file(image.place.log) ?? []).records
        var disclosed = DisclosedState(
            image.disclosed.position, numbersBelow: image.disclosed.numbersBelow)
        var random = SplitMix64(seed: image.luck)
        var found: [String] = []
        let moments = (0..<cuts).map { _ in Int.random(in: 0...records.count, using: &random) }
        for cut in moments.sorted() {
            for record in records[disk.played..<cut] {
                disk.play(record)
                try disclosed.play(record)
            }
            let directory = image.place.disk + "-again"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try disk.crash(into: directory, seed: random.next())
            let check = ImageCheck(
                store: directory + "/store", disclosed: disclosed, reference: reference)
            found += check.violations().map { "\(name(image)), its recovery cut at \(cut): \($0)" }
        }
        return found
    }
}
