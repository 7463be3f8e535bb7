import Glibc
import Tandem

/// The functions of GLib that a main loop needs, loaded at run time.
///
/// A program for GTK imports them from its bindings.
struct GLib {
    /// A callback for a descriptor; returns 1 to be called again.
    private typealias OnDescriptor =
        @convention(c) (Int32, UInt32, UnsafeMutableRawPointer?) -> Int32

    private let makeLoop: @convention(c) (OpaquePointer?, Int32) -> OpaquePointer?
    private let runLoop: @convention(c) (OpaquePointer?) -> Void
    private let watch:
        @convention(c) (Int32, UInt32, OnDescriptor, UnsafeMutableRawPointer?) -> UInt32

    private struct Missing: Error { let message: String }

    init() throws {
        guard let library = dlopen("libglib-2.0.so.0", RTLD_NOW) else {
            throw Missing(message: "libglib-2.0.so.0 cannot be loaded; install libglib2.0-0")
        }
        func function<Function>(_ name: String) throws -> Function {
            guard let symbol = dlsym(library, name) else {
                throw Missing(message: "GLib has no \(name)")
            }
            return unsafeBitCast(symbol, to: Function.self)
        }
        makeLoop = try function("g_main_loop_new")
        runLoop = try function("g_main_loop_run")
        watch = try function("g_unix_fd_add")
    }

    /// Runs a main loop that serves Swift's work for the loop, and standard input.
    func run() {
        let readable: UInt32 = 1  // G_IO_IN
        _ = watch(
            LoopExecutor.main.fileDescriptor, readable,
            { _, _, _ in
                LoopExecutor.main.drain()
                return 1
            }, nil)
        _ = watch(
            STDIN_FILENO, readable,
            { _, _, _ in
                Window.handle(readLine() ?? "quit")
                return 1
            }, nil)
        runLoop(makeLoop(nil, 0))
    }
}
