import Glibc

/// The sizes of a soak's long-lived processes over time.
struct SoakSizes {
    /// The bytes by which a process may grow from the second to the last quarter of its life, in a
    /// run of an hour.
    static let margin = 8 << 20
    /// The bytes by which a process may grow in total; allocators first fill the memory that they
    /// keep.
    static let bound = 64 << 20
    /// The number of samples below which a slow leak would not show: half an hour's worth.
    private static let longLife = 800

    private var samples: [String: [(process: pid_t, size: ProcessSize)]] = [:]

    /// Records the size of a process, unless it has just ended.
    mutating func measure(_ name: String, _ process: pid_t?) {
        guard let process, let size = try? ProcessSize(process) else { return }
        // Another process with that name starts with no samples.
        if samples[name]?.last?.process != process { samples[name] = [] }
        samples[name]?.append((process, size))
    }

    /// The excessive growth of processes.
    var problems: [String] {
        samples.flatMap { name, samples -> [String] in
            guard samples.count >= 8, let first = samples.dropFirst(2).first?.size,
                let last = samples.last?.size
            else { return [] }
            var problems: [String] = []
            if last.descriptors > first.descriptors + 8 {
                problems.append(
                    "\(name): \(first.descriptors) descriptors, then \(last.descriptors)")
            }
            if last.bytes > first.bytes + Self.bound {
                problems.append("\(name): \(first.bytes) bytes, then \(last.bytes)")
            }
            let isLong = samples.count > Self.longLife
            let (second, fourth) = (median(samples, 1), median(samples, 3))
            if isLong, fourth > second + Self.margin {
                problems.append(
                    "\(name): \(second) bytes in the second quarter, \(fourth) in the last")
            }
            return problems
        }
    }

    /// A line for each process: name, first and last size, the medians of the quarters, and
    /// descriptors.
    var lines: [String] {
        samples.sorted { $0.key < $1.key }.compactMap { name, samples in
            guard let first = samples.first?.size, let last = samples.last?.size else { return nil }
            return "\(name): \(first.bytes >> 10) to \(last.bytes >> 10) KiB, quarters "
                + (0..<4).map { "\(median(samples, $0) >> 10)" }.joined(separator: " ")
                + ", descriptors \(first.descriptors) to \(last.descriptors), \(samples.count) samples"
        }
    }

    private func median(_ samples: [(process: pid_t, size: ProcessSize)], _ quarter: Int) -> Int {
        let part = samples[samples.count * quarter / 4..<samples.count * (quarter + 1) / 4]
        let sorted = part.map(\.size.bytes).sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
