import Glibc

/// The processes of one kernel session: a test process and all processes that it started.
struct ProcessSession {
    let id: Int32

    /// The processor time of all processes, including awaited children, in seconds.
    var processorSeconds: Double {
        let ticks = processes.reduce(0) { $0 + $1.ticks }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Whether the first process, a child of this one, has ended and may be waited for.
    var hasEnded: Bool {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 else { return true }
        return info.si_signo != 0
    }

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
            guard let first = name.utf8.first, first <= UInt8(ascii: "9") else { return nil }
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
            // The name may contain blanks and parentheses. The parsing is that of C, because the
            // runner reads hundreds of these lines per second in an unoptimized build.
            let stat = text.withCString { line -> Stat? in
                guard let open = strchr(line, Int32(UInt8(ascii: "("))),
                    let close = strrchr(line, Int32(UInt8(ascii: ")"))),
                    close > open, close[1] != 0, close[2] != 0
                else { return nil }
                // The fields from the parent's id to the times of awaited children.
                var next: UnsafeMutablePointer<CChar>? = close + 3
                let fields = (4...17).map { _ in next.map { strtol($0, &next, 10) } ?? 0 }
                let name = UnsafeRawBufferPointer(start: open + 1, count: close - open - 1)
                return Stat(
                    id: Int32(truncatingIfNeeded: strtol(line, nil, 10)),
                    name: String(decoding: name, as: UTF8.self),
                    state: Character(Unicode.Scalar(UInt8(bitPattern: close[2]))),
                    session: Int32(truncatingIfNeeded: fields[2]),
                    ticks: fields[10...].reduce(0, +))
            }
            guard let stat else { return nil }
            self = stat
        }

        private init(id: Int32, name: String, state: Character, session: Int32, ticks: Int) {
            self.id = id
            self.name = name
            self.state = state
            self.session = session
            self.ticks = ticks
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
