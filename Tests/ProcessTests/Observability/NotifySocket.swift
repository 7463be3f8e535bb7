import Glibc
import TandemIO
import Testing

/// The socket of a service manager that a test emulates.
///
/// Datagrams arrive in order, and each contains one message.
final class NotifySocket {
    let path: String
    private let descriptor: Int32

    init(_ place: Place) throws {
        path = place.path + "/notify"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0, "cannot bind \(path)")
    }

    deinit { close(descriptor) }

    /// Returns the shell command that sets the environment of a daemon, so that it sends its
    /// messages to the socket.
    func exportCommand(watchdogMicroseconds: Int) -> String {
        "export NOTIFY_SOCKET='\(path)' WATCHDOG_USEC=\(watchdogMicroseconds)"
    }

    /// Returns the next message, or nil if none arrives within the limit.
    func next(withinMilliseconds limit: Int32 = 60_000) -> String? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, limit) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 8_192)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Returns the messages up to the first one that satisfies `isWanted`.
    ///
    /// Fails the test and throws if no such message arrives.
    func messages(
        until isWanted: (String) -> Bool, _ place: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        var messages: [String] = []
        while true {
            let message = try #require(
                next(), "the message never arrived; received before: \(messages)",
                sourceLocation: place)
            messages.append(message)
            if isWanted(message) { return messages }
        }
    }
}
