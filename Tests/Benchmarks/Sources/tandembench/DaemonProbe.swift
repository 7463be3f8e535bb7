import Glibc
import Tandem

/// Measurements of the daemon's process by the kernel.
struct DaemonProbe {
    let process: Int

    /// Finds the daemon at a socket.
    init(_ socket: String) throws {
        guard let pid = try status(socket).pid else {
            throw Failure("the daemon has no pid")
        }
        process = pid
    }

    /// Returns the daemon's own memory, and pages of mapped files, which the kernel may reclaim, in
    /// KiB.
    func memory() throws -> (own: Int, mapped: Int) {
        let lines = try text("/proc/\(process)/status").split(separator: "\n")
        func kibibytes(_ name: String) -> Int {
            let line = lines.first { $0.hasPrefix(name + ":") } ?? ""
            return Int(line.filter(\.isNumber)) ?? 0
        }
        return (kibibytes("RssAnon"), kibibytes("RssFile"))
    }

    /// Returns the processor time of the daemon's main thread, which does everything except
    /// creating segments and reading snapshots, in microseconds.
    func processorMicroseconds() throws -> Double {
        let first = try text("/proc/\(process)/schedstat").split(separator: " ").first
        return (first.flatMap { Double($0) } ?? 0) / 1_000
    }

    private func text(_ path: String) throws -> String {
        guard let file = fopen(path, "r") else { throw Failure("no \(path)") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
