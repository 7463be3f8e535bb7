import Glibc
import Tandem

/// The daemon's resident memory over a million saves.
@MainActor
struct MemoryBenchmark {
    let socket: String
    let folder: String
    let n: Int
    let saves: Int

    private struct Sample {
        var saves: UInt64
        /// The daemon's own memory, and pages of mapped files, which the kernel may reclaim, in
        /// KiB.
        var own: Int
        var mapped: Int
    }

    /// The number of samples without a save after which all writers are assumed to have finished.
    private static let quietSamples = 50

    func run() throws {
        var data = BenchData(contents: n)
        let ids = try data.seed(socket)
        try BenchData.save(ids, to: folder)
        let container = container(socket, "watch")
        defer { container.close() }
        let probe = try DaemonProbe(socket)
        let writers = 16
        let load = Load(
            socket: socket, folder: folder, n: n, writers: writers, perSave: 1, seconds: 600,
            saves: saves / writers)
        var samples: [Sample] = []
        let first = try container.end().number
        _ = try load.run(&data) {
            var (done, still): (UInt64, Int) = (0, 0)
            // A save that changes nothing has no position, so only a pause shows that the saves
            // have ended.
            while done < UInt64(saves / writers * writers), still < Self.quietSamples {
                usleep(100_000)
                let before = done
                done = try container.end().number - first
                still = done == before ? still + 1 : 0
                let (own, mapped) = try probe.memory()
                samples.append(Sample(saves: done, own: own, mapped: mapped))
            }
        }
        try data.check(socket, ids)
        try emit(samples)
    }

    /// Prints one line with the memory after each tenth of the saves; growth is measured from the
    /// second tenth on.
    private func emit(_ samples: [Sample]) throws {
        let tenths = (1...10).compactMap { tenth in
            samples.first { $0.saves * 10 >= (samples.last?.saves ?? 1) * UInt64(tenth) }
        }
        guard let early = tenths.dropFirst().first, let last = tenths.last else {
            throw Failure("there were no samples")
        }
        func list(_ value: (Sample) -> Int) -> String {
            "[" + tenths.map { "\(value($0))" }.joined(separator: ",") + "]"
        }
        ResultLine(
            scenario: "memory", peer: "tandem", n: n, metric: "resident_\(saves)_saves",
            values: tenths.map { Double($0.own) }, unit: "KiB",
            notes: [
                ("growth", "\(last.own - early.own)"), ("own_at_tenths", list(\.own)),
                ("mapped_at_tenths", list(\.mapped)),
            ]
        ).emit()
    }
}
