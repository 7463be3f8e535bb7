import Glibc

/// How large the long-lived processes of a soak were, over time.
struct SoakSizes {
    /// A process may grow by so much between the second and the last quarter of its life, in an hour.
    static let margin = 8 << 20
    /// In a shorter run a process may grow by so much in all; allocators fill first what they keep.
    static let bound = 64 << 20
    /// Lives with fewer samples, half an hour, say nothing of a slow leak.
    private static let longLife = 800

    private var samples: [String: [(process: pid_t, size: ProcessSize)]] = [:]

    /// Takes the size of a process; one that has just ended has none.
    mutating func measure(_ name: String, _ process: pid_t?) {
        guard let process, let size = try? ProcessSize(process) else { return }
        // Another process of that name begins anew.
        if samples[name]?.last?.process != process { samples[name] = [] }
        samples[name]?.append((process, size))
    }

    /// What grew.
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

    /// One line: name, first and last size, and the medians of the second and the last quarter.
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
