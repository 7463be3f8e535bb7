import Glibc

/// Tells systemd how the daemon is; does nothing where systemd did not start it.
public enum Notify {
    /// The daemon serves.
    public static func ready(status: String) { send(readyMessage(status)) }

    /// One line for `systemctl status`.
    public static func status(_ text: String) { send("STATUS=\(oneLine(text))") }

    /// The daemon is stopping.
    public static func stopping() { send("STOPPING=1") }

    /// The daemon is alive; send it at least at half of ``watchdogMicroseconds``.
    public static func watchdog() { send("WATCHDOG=1") }

    /// How long systemd waits between two ``watchdog()`` calls; nil if it does not watch.
    public static var watchdogMicroseconds: UInt64? {
        let owner = ThisProcess.environment("WATCHDOG_PID").flatMap { Int32($0) }
        guard owner == nil || owner == getpid() else { return nil }
        return ThisProcess.environment("WATCHDOG_USEC").flatMap { UInt64($0) }
    }

    static func readyMessage(_ status: String) -> String {
        "READY=1\nSTATUS=\(oneLine(status))"
    }

    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    // Best effort by design: a daemon that can't report must still serve.
    private static func send(_ message: String) {
        if let path = ThisProcess.environment("NOTIFY_SOCKET") { send(message, to: path) }
    }

    static func send(_ message: String, to path: String) {
        var name = Array(path.utf8)
        guard name.count <= SocketAddress.maximumPathBytes, let first = name.first else { return }
        // "@" stands for the zero byte of an abstract name.
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
