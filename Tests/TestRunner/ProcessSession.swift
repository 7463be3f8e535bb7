import Glibc

/// The processes of one kernel session: a test process and all processes that it started.
struct ProcessSession {
    let id: Int32

    /// The processor time of all processes, including awaited children, in seconds.
    var processorSeconds: Double {
        let ticks = processes.reduce(0) { $0 + $1.ticks }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Whether the first process has ended and may be waited for.
    var hasEnded: Bool { Stat("/proc/\(id)/stat").map { $0.state == "Z" } ?? true }

    /// Whether any thread of the processes waits for the disk.
    var isWaitingForDisk: Bool {
        processes.contains { process in
            Self.names("/proc/\(process.id)/task").contains {
                Stat("/proc/\(process.id)/task/\($0)/stat")?.state == "D"
            }
        }
    }

    /// Kills all processes, and returns when each has ended or waits for the disk.
    func kill() {
        while true {
            let left = processes.filter { $0.state != "Z" && $0.state != "D" }
            if left.isEmpty { return }
            for process in left { Glibc.kill(process.id, SIGKILL) }
            sched_yield()
        }
    }

    /// Each process, with the kernel function in which its threads wait.
    var description: String {
        processes.map { process in
            let threads = Self.names("/proc/\(process.id)/task").map {
                Self.text("/proc/\(process.id)/task/\($0)/wchan") ?? "?"
            }
            return "\(process.name)[\(process.id)]: \(threads.joined(separator: " "))"
        }.joined(separator: "; ")
    }

    private var processes: [Stat] {
        Self.names("/proc").compactMap { name in
            guard name.first?.isNumber == true else { return nil }
            return Stat("/proc/\(name)/stat").flatMap { $0.session == id ? $0 : nil }
        }
    }

    /// The fields of `/proc/PID/stat`; see proc(5).
    struct Stat {
        let id: Int32
        let name: String
        let state: Character
        let session: Int32
        let ticks: Int

        init?(_ path: String) { self.init(text: ProcessSession.text(path) ?? "") }

        init?(text: String) {
            guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"),
                let id = Int32(text[..<open].filter(\.isNumber))
            else { return nil }
            // The fields from the third on: the second one, the name, may contain blanks.
            let fields = text[text.index(after: close)...].split(separator: " ")
            guard fields.count > 14, let state = fields[0].first, let session = Int32(fields[3])
            else { return nil }
            self.id = id
            self.name = String(text[text.index(after: open)..<close])
            self.state = state
            self.session = session
            ticks = fields[11...14].reduce(0) { $0 + (Int($1) ?? 0) }
        }
    }

    private static func names(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
