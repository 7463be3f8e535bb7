import Glibc
import TandemIO
import Testing

/// A `tandemd` of this build in a process of its own.
///
/// It is killed when the last reference is released, unless a test has waited for its end.
final class DaemonProcess: Sendable {
    let processID: pid_t
    /// The read end of its standard error.
    private let output: Socket
    private let hasEnded = Locked(false)

    /// Whether the process still has to be waited for.
    var isRunning: Bool { !hasEnded.withLock { $0 } }

    /// The directory of the executables that were built with this test.
    static var products: String {
        var path = [UInt8](repeating: 0, count: 4_096)
        let count = path.withUnsafeMutableBytes {
            $0.baseAddress.map { readlink("/proc/self/exe", $0, 4_096) } ?? 0
        }
        let text = String(decoding: path[..<max(0, count)], as: UTF8.self)
        return String(text.prefix(upTo: text.lastIndex(of: "/") ?? text.startIndex))
    }

    /// Starts a program without waiting for it; a listening socket is passed on as systemd does.
    init(
        _ program: String, _ arguments: [String], shell limits: String? = nil,
        wrapper: String = "", listener: Int32? = nil
    ) throws {
        let path = DaemonProcess.products + "/" + program
        var words = [path] + arguments
        if !wrapper.isEmpty {
            words = ["/bin/sh", "-c", "exec \(wrapper) \"$0\" \"$@\""] + words
        }
        if let limits { words = ["/bin/sh", "-c", limits + "; exec \"$0\" \"$@\""] + words }
        if listener != nil {
            let variables = "LISTEN_PID=$$ LISTEN_FDS=1"
            words = ["/bin/sh", "-c", "export \(variables); exec \"$0\" \"$@\""] + words
        }
        // Closed on exec, so that no other test's process holds it open.
        let (mine, its) = try Socket.pair()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, its.descriptor, 2)
        if let listener { posix_spawn_file_actions_adddup2(&actions, listener, 3) }
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var child = pid_t()
        let status = posix_spawn(&child, words[0], &actions, nil, &argv, environ)
        withExtendedLifetime(its) {}
        try #require(status == 0, "cannot start \(words[0]): \(status)")
        processID = child
        output = mine
    }

    /// Starts a daemon and waits until it is ready.
    static func serving(
        store: String, socket: String, options: [String] = [], limits: String? = nil
    ) throws -> DaemonProcess {
        let daemon = try DaemonProcess(
            "tandemd",
            ["--store", store, "--socket", socket, "--segment-mebibytes", "1"] + options,
            shell: limits)
        let lines = daemon.readOutput { $0.contains("ready:") }
        try #require(lines.contains("ready:"), "the daemon did not start: \(lines)")
        return daemon
    }

    /// Reads standard error until its end, or until the predicate accepts the text read so far.
    func readOutput(until isEnough: (String) -> Bool = { _ in false }) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !isEnough(String(decoding: bytes, as: UTF8.self)) {
            let count = try? buffer.withUnsafeMutableBytes { try output.readSome(into: $0) }
            guard let count, count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a signal and waits until the daemon has ended.
    ///
    /// Returns the exit code, or the negated signal that ended the process.
    @discardableResult
    func end(_ signal: Int32) -> Int32 {
        kill(processID, signal)
        return wait()
    }

    deinit {
        if isRunning { end(SIGKILL) }
    }

    /// Waits until the daemon has ended; returns the same as ``end(_:)``.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        hasEnded.withLock { $0 = true }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : -signal
    }
}
