import Glibc

/// What a reader tells the writer: its list stands at a position, since when.
struct Acknowledgement: BitwiseCopyable {
    var position: UInt64
    var at: UInt64

    /// Writes it to standard output, the pipe to the writer.
    func send() throws {
        let count = withUnsafeBytes(of: self) { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard count == MemoryLayout<Self>.size else { throw Failure("the writer is gone") }
    }
}

/// This program once more, as the reader of P3, with a pipe from its standard output.
final class ReaderProcess {
    private static let timeoutMilliseconds: Int32 = 60_000
    private let processID: pid_t
    private let pipeEnd: Int32

    /// Starts it with the given arguments.
    init(_ arguments: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("no pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        let words = ["tandembench"] + arguments
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var child = pid_t()
        let status = posix_spawn(&child, "/proc/self/exe", &actions, nil, &argv, environ)
        close(ends[1])
        processID = child
        pipeEnd = ends[0]
        guard status == 0 else { throw Failure("the reader can't be started: \(status)") }
    }

    /// A reader that was not waited for is ended.
    deinit {
        if kill(processID, SIGKILL) == 0 { waitpid(processID, nil, 0) }
        close(pipeEnd)
    }

    /// The time at which the reader's list first stood at a position or after it.
    func wait(for position: UInt64) throws -> UInt64 {
        while true {
            var waiting = pollfd(fd: pipeEnd, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Self.timeoutMilliseconds) == 1 else {
                throw Failure("no acknowledgement from the reader for position \(position)")
            }
            var found = Acknowledgement(position: 0, at: 0)
            let count = withUnsafeMutableBytes(of: &found) {
                read(pipeEnd, $0.baseAddress, $0.count)
            }
            guard count == MemoryLayout<Acknowledgement>.size else {
                throw Failure("the reader ended before position \(position)")
            }
            if found.position >= position { return found.at }
        }
    }

    /// Waits until it has ended by itself; throws unless it found its list right.
    func finish() throws {
        var status: Int32 = 0
        guard waitpid(processID, &status, 0) == processID else {
            throw Failure("the reader can't be waited for: errno \(errno)")
        }
        guard status == 0 else { throw Failure("the reader failed with status \(status)") }
    }
}
