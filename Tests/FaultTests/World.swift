import FoundationEssentials
import TandemIO
import Testing

/// One recorded life of a daemon, from which crash images are made.
struct World {
    let seed: UInt64
    let scratch: Scratch
    let recording: Recording
    let reference: Reference
    private let root: String

    /// Runs a real daemon under random saves and records it.
    init(seed: UInt64, steps: Int, faults: String = "", durability: String = "full") throws {
        self.seed = seed
        scratch = try Scratch()
        let place = try FaultPlace(scratch)
        root = place.disk
        let daemon = try RecordedDaemon(place, faults: faults, durability: durability)
        try #require(daemon.isServing, "the daemon did not start: \(daemon.text)")
        var workload = Workload(place, seed: seed)
        try workload.begin()
        for _ in 0..<steps { try workload.step() }
        // Half of them end in order.
        if seed % 2 == 0 {
            daemon.terminate()
            let status = daemon.wait()
            try #require(status == .exited(0), "\(daemon.text)")
        } else {
            daemon.kill()
        }
        recording = Recording(log: Scratch.file(place.log) ?? [])
        // Nothing is lost when only the process ends, so the directory is the reference.
        try Recovered.recover(place.store)
        reference = try Reference(try Recovered(place.store).encoded)
        try #require(reference.encoded.count >= workload.answered.count)
    }

    /// An image: where it was cut and what a crash kept.
    struct Image {
        let place: FaultPlace
        let told: Told
        let cut: Int
        let seed: UInt64
    }

    /// Calls `body` with images of cuts at random moments, in the order of the recording.
    func images(_ count: Int, _ body: (Image) throws -> Void) throws {
        var random = SplitMix64(seed: seed ^ 0xfeed)
        let cuts = (0..<count).map { _ in
            Int.random(in: 0...recording.records.count, using: &random)
        }
        var disk = try Disk(root: root)
        var told = Told()
        for (number, cut) in cuts.sorted().enumerated() {
            for record in recording.records[disk.played..<cut] {
                disk.play(record)
                try told.play(record)
            }
            let luck = random.next()
            let directory = scratch.path + "/image\(number)"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try disk.crash(into: directory, seed: luck)
            let place = try FaultPlace(scratch, disk: directory)
            try body(Image(place: place, told: told, cut: cut, seed: luck))
        }
    }

    /// What is wrong with an image; recovers it.
    func violations(_ image: Image) -> [String] {
        ImageCheck(store: image.place.store, told: image.told, reference: reference).violations()
    }

    /// Recovers an image under the recorder, crashes that recovery at random moments, and says what is
    /// wrong with what is left.
    func violationsAfterCrashedRecovery(_ image: Image, cuts: Int) throws -> [String] {
        var disk = try Disk(root: image.place.disk, filledFrom: image.place.disk)
        let daemon = try RecordedDaemon(image.place)
        guard daemon.isServing else { return ["refused: \(daemon.text)"] }
        let client = try FaultClient(image.place.socket)
        client.close()
        daemon.kill()
        let records = Recording(log: Scratch.file(image.place.log) ?? []).records
        var told = Told(image.told.position, numbersBelow: image.told.numbersBelow)
        var random = SplitMix64(seed: image.seed)
        var found: [String] = []
        for cut in (0..<cuts).map({ _ in Int.random(in: 0...records.count, using: &random) })
            .sorted()
        {
            for record in records[disk.played..<cut] {
                disk.play(record)
                try told.play(record)
            }
            let directory = image.place.disk + "-again"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try disk.crash(into: directory, seed: random.next())
            let check = ImageCheck(store: directory + "/store", told: told, reference: reference)
            found += check.violations().map { "recovery cut at \(cut): \($0)" }
        }
        return found
    }
}
