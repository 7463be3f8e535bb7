import Glibc
import Tandem

/// A main loop that the program can run.
enum LoopKind: String {
    case poll, glib

    /// Runs until the program ends.
    func run() throws {
        switch self {
        case .poll: Self.runPoll()
        case .glib: try GLib().run()
        }
    }

    /// A loop around `poll`, as in a program that uses ncurses.
    private static func runPoll() {
        var sources = [LoopExecutor.main.fileDescriptor, STDIN_FILENO].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        while Glibc.poll(&sources, 2, -1) > 0 || errno == EINTR {
            if sources[0].revents != 0 { LoopExecutor.main.drain() }
            if sources[1].revents != 0 { Window.handle(readLine() ?? "quit") }
        }
    }
}
