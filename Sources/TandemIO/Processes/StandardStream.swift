import Glibc
import Synchronization

/// Standard output or standard error, unbuffered.
///
/// A reader that quits (`tandem log | head`) is not an error: the stream closes and ignores further
/// writes, and a command checks ``isClosed`` to stop early. Any other failure, such as a full disk,
/// also closes the stream, and is kept as ``failure`` for the command to report.
public final class StandardStream: Sendable {
    /// Standard output.
    public static let output = StandardStream(STDOUT_FILENO)
    /// Standard error.
    public static let error = StandardStream(STDERR_FILENO)

    /// The file descriptor: 1 or 2.
    public let descriptor: Int32
    /// The error number of the write that closed the stream; 0 while it is open.
    private let closedBy = Atomic<Int32>(0)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Whether the reader has closed the stream, or a write failed.
    public var isClosed: Bool { closedBy.load(ordering: .relaxed) != 0 }

    /// The error that closed the stream; nil while it is open, or if the reader closed it.
    public var failure: IOError? {
        let number = closedBy.load(ordering: .relaxed)
        guard number != 0, number != EPIPE else { return nil }
        let name = descriptor == STDOUT_FILENO ? "standard output" : "standard error"
        return IOError(.write, name, errno: number)
    }

    /// Whether the stream is connected to journald, which accepts priorities.
    ///
    /// True if the descriptor's file is the one in `JOURNAL_STREAM`.
    public var isJournal: Bool {
        guard let named = ThisProcess.environment("JOURNAL_STREAM") else { return false }
        var status = stat()
        return fstat(descriptor, &status) == 0 && named == "\(status.st_dev):\(status.st_ino)"
    }

    /// Writes text as UTF-8, all of it unless the stream is closed.
    public func write(_ text: String) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes bytes, all of them unless the stream is closed.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty && !isClosed {
            switch retrying({ Glibc.write(descriptor, rest.baseAddress, rest.count) }) {
            case .success(let count): rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .failure(let error) where error.number == EAGAIN: waitForRoom()
            case .failure(let error): closedBy.store(error.number, ordering: .relaxed)
            }
        }
    }

    /// Checks whether the reader of a pipe has closed it, without writing.
    ///
    /// Useful for commands that may have nothing to write for a long time.
    public func checkReader() {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        guard !isClosed, poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLERR) != 0 else { return }
        closedBy.store(EPIPE, ordering: .relaxed)
    }

    private func waitForRoom() {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
    }

    /// Opens standard input, output and error if they are closed, so that no other file gets their
    /// descriptors.
    ///
    /// Reads and writes then fail as on a closed descriptor. Call it at the start of a command,
    /// before any file is opened.
    public static func reserveDescriptors() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0
        {
            // `open` returns the lowest free descriptor, which is this one.
            _ = Glibc.open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Makes writes to a closed pipe return an error instead of killing the process.
    ///
    /// Call it once at the start of a command.
    public static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}

/// A line reader of standard input, which returns raw bytes.
///
/// Bound to one thread.
public final class StandardInput {
    private let stream: StreamReader
    private let maximumLineBytes: Int
    private var buffer: [UInt8] = []
    private var searched = 0
    private var ended = false

    /// Creates a reader of lines of at most `maximumLineBytes`, from standard input by default.
    public init(descriptor: Int32 = 0, maximumLineBytes: Int = 16 << 20) {
        stream = StreamReader(descriptor: descriptor)
        self.maximumLineBytes = maximumLineBytes
    }

    /// Returns the next line without its newline, waiting for it; nil at the end.
    ///
    /// A last line without a newline is returned too. Throws `EMSGSIZE` for a line that exceeds the
    /// limit.
    public func readLine() throws(IOError) -> [UInt8]? {
        while true {
            if let end = buffer[searched...].firstIndex(of: 10) {
                let line = Array(buffer[..<end])
                buffer.removeSubrange(...end)
                searched = 0
                return line
            }
            searched = buffer.count
            if ended {
                defer { buffer = [] }
                searched = 0
                return buffer.isEmpty ? nil : buffer
            }
            guard buffer.count <= maximumLineBytes else {
                throw IOError(
                    .read, "<standard input>", errno: EMSGSIZE,
                    detail: "a line is longer than \(maximumLineBytes) bytes")
            }
            try fill()
        }
    }

    /// Skips the rest of a line that exceeds the limit.
    public func skipLine() throws(IOError) {
        while !ended {
            if let end = buffer.firstIndex(of: 10) {
                buffer.removeSubrange(...end)
                searched = 0
                return
            }
            buffer.removeAll()
            searched = 0
            try fill()
        }
    }

    private func fill() throws(IOError) {
        let bytes = try stream.read()
        buffer += bytes
        ended = bytes.isEmpty
    }
}
