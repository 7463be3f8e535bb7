import Glibc

/// The messages of systemd's notification protocol, and a function that sends them.
///
/// Nothing is sent if systemd did not start the process.
public enum Notify {
    /// Returns the message announcing that the daemon is ready, with a status line for
    /// `systemctl status`.
    public static func ready(_ status: String) -> String { "READY=1\n" + self.status(status) }

    /// Returns the message that sets the status line for `systemctl status`.
    public static func status(_ text: String) -> String { "STATUS=\(oneLine(text))" }

    /// The message announcing that the daemon is stopping.
    public static let stopping = "STOPPING=1"

    /// The watchdog message, sent at least every half of ``watchdogMicroseconds`` while work
    /// completes.
    public static let watchdog = "WATCHDOG=1"

    /// Returns the message that sets the watchdog timeout from now on.
    public static func watchdog(everyMicroseconds timeout: UInt64) -> String {
        "WATCHDOG_USEC=\(timeout)"
    }

    /// Returns the message that extends the timeout for starting or stopping, counted from now.
    public static func extendTimeout(microseconds: UInt64) -> String {
        "EXTEND_TIMEOUT_USEC=\(microseconds)"
    }

    /// The watchdog timeout; nil if systemd does not watch this process.
    public static var watchdogMicroseconds: UInt64? {
        watchdogMicroseconds(
            owner: ThisProcess.environment("WATCHDOG_PID"),
            timeout: ThisProcess.environment("WATCHDOG_USEC"))
    }

    /// Returns the timeout that the two variables announce, or nil if they are meant for another
    /// process.
    static func watchdogMicroseconds(owner: String?, timeout: String?) -> UInt64? {
        if let owner { guard Int32(owner) == getpid() else { return nil } }
        guard let timeout = timeout.flatMap({ UInt64($0) }), timeout > 0 else { return nil }
        return timeout
    }

    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    /// Sends a message, and ignores failures: a daemon that can't report must still serve.
    public static func send(_ message: String) {
        if let path = ThisProcess.environment("NOTIFY_SOCKET") { send(message, to: path) }
    }

    static func send(_ message: String, to path: String) {
        var name = Array(path.utf8)
        guard name.count <= SocketAddress.maximumPathBytes, let first = name.first else { return }
        // "@" denotes the zero byte of an abstract name.
        if first == UInt8(ascii: "@") { name[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Linux.closeOnExec, 0)
        guard descriptor >= 0 else { return }
        defer { _ = Glibc.close(descriptor) }
        let bytes = Array(message.utf8)
        _ = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
