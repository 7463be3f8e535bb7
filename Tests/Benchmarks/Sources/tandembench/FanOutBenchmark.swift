import Glibc
import Tandem

/// P6: one change to n connections; the time from the end of the daemon's flush until the last one
/// has received it.
///
/// One process reads all connections, and as many connections of a plain broadcast of 256 bytes, in
/// one loop. The broadcast is measured alternately with the daemon's changes. The daemon's
/// processor time is measured from the save until the last delivery, including the save.
@MainActor
struct FanOutBenchmark {
    private static let changes = 300
    private static let warmUp = 20
    private static let contents = 1_000
    let socket: String
    let folder: String
    let n: Int

    /// The measurements, in microseconds.
    private struct Measured {
        var changes: [Double] = []
        var plains: [Double] = []
        var processor = 0.0
    }

    func run() throws {
        var data = BenchData(contents: Self.contents)
        let ids = try data.seed(socket)
        let container = container(socket, "saver")
        defer { container.close() }
        let saver = try ChangeSaver(container, ids)
        // The processor time of the saves alone.
        let alone = try measure(saver, &data, nil, nil).processor
        let broadcast = try PlainBroadcast(folder + "/plain")
        let process = try BenchProcess([
            "subscribers", "\(n)", socket, folder, "Content", "plain", "reports",
        ])
        try broadcast.accept(n)
        let begun = try process.wait(for: Subscribers.ready)
        let measured = try measure(saver, &data, process, broadcast)
        process.closeInput()
        let report = try process.read(4, UInt64(0))
        try process.finish()
        let count = UInt64(Self.changes + Self.warmUp)
        guard report[0] == count, report[1] == count else {
            throw Failure("subscribers had \(report[0]) to \(report[1]) changes of \(count)")
        }
        try data.check(socket, ids)
        emit(measured, alone, broadcast, Double(report[2] - begun) / 1_000, Int(report[3]))
    }

    private func measure(
        _ saver: ChangeSaver, _ data: inout BenchData, _ process: BenchProcess?,
        _ broadcast: PlainBroadcast?
    ) throws -> Measured {
        let probe = try DaemonProbe(socket)
        // The values must differ from the previous ones; otherwise there would be nothing to save.
        var generator = SplitMix64(process == nil ? 44 : 45)
        var measured = Measured()
        for change in 0..<(Self.changes + Self.warmUp) {
            let counts = change >= Self.warmUp
            usleep(UInt32(generator.below(3_000)))
            if let process, let broadcast {
                let start = now()
                let record = try broadcast.send() | Subscribers.plain
                let end = try process.wait(exactly: record)
                if counts { measured.plains.append(microseconds(from: start, to: end)) }
                usleep(UInt32(generator.below(3_000)))
            }
            let before = try probe.processorMicroseconds()
            let position = try saver.save(&generator, &data)
            let end = try process?.wait(exactly: position)
            // Waits for the rest of the daemon's turn.
            usleep(200)
            let after = try probe.processorMicroseconds()
            guard counts else { continue }
            measured.processor += after - before
            guard let end, let flushed = try saver.status().lastFlushNanoseconds else {
                continue
            }
            measured.changes.append(microseconds(from: UInt64(flushed), to: end))
        }
        return measured
    }

    private func emit(
        _ measured: Measured, _ alone: Double, _ broadcast: PlainBroadcast,
        _ subscribers: Double, _ frameBytes: Int
    ) {
        let deliveries = Double(Self.changes * n)
        let all = Double((Self.changes + Self.warmUp) * n)
        ResultLine(
            scenario: "p6", peer: "tandem", n: n, metric: "change_to_last_subscriber",
            values: measured.changes, floor: measured.plains,
            notes: [
                ("subscribers", "\(n)"), ("frame_bytes", "\(frameBytes)"),
                ("server_cpu_us_per_delivery", decimal(measured.processor / deliveries)),
                (
                    "server_cpu_us_per_delivery_without_saves",
                    decimal((measured.processor - alone) / deliveries)
                ),
                (
                    "floor_cpu_us_per_delivery",
                    decimal(Double(broadcast.processorNanoseconds) / 1_000 / all)
                ),
                // The sum for one change and one record of the broadcast, because one process
                // receives both.
                ("subscriber_cpu_us_per_delivery", decimal(subscribers / all / 2)),
            ]
        ).emit()
    }
}

/// Saves one changed content object at a time, and reads the daemon's status.
@MainActor
final class ChangeSaver {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let objects: [Content]

    init(_ container: PersistentContainer, _ ids: [ObjectID]) throws {
        self.container = container
        context = container.makeContext(name: "p6")
        let context = context
        objects = try ids.compactMap { try context.object(with: $0) as? Content }
        guard objects.count == ids.count else { throw Failure("contents are missing") }
    }

    func save(_ generator: inout SplitMix64, _ data: inout BenchData) throws -> UInt64 {
        let (index, size) = (generator.below(objects.count), generator.below(1_048_576))
        objects[index].size = size
        objects[index].isEven = size % 2 == 0
        let position = try context.save()
        data.contents[index].size = size
        return position.number
    }

    func status() throws -> DaemonStatus { try DaemonStatus(container) }
}

extension BenchProcess {
    /// Returns the time at which the reader received this change; other changes are ignored.
    func wait(exactly change: UInt64) throws -> UInt64 {
        while true {
            let found = try read(1, Acknowledgement(position: 0, at: 0))[0]
            if found.position == change { return found.at }
        }
    }
}
