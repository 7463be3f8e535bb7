import TandemIO
import TandemModel
import TandemStore

/// A poller, which reports the connections that can be read or written.
protocol EventPoller: AnyObject {
    /// Watches a descriptor; its events carry `token`.
    func add(_ target: Int32, token: UInt64, interest: Interest) throws(IOError)

    /// Changes the events for which a descriptor is watched.
    func modify(_ target: Int32, token: UInt64, interest: Interest) throws(IOError)

    /// Waits until a descriptor is ready or the timeout expires; replaces the contents of `events`.
    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) throws(IOError)
}

extension Poller: EventPoller {}

/// The daemon's injected dependencies: the real system, or a simulated one.
struct DaemonEnvironment {
    /// The file system of the journal.
    var fileSystem: any FileSystem = RealFileSystem()
    /// The source of time.
    var clock: any Clock = SystemClock()
    /// Options of the store, which always uses LMDB's own files.
    var store = StoreOptions()
    /// Creates the id of a new log.
    var newLog: () -> LogID = DaemonEnvironment.randomLog
    /// The service manager's notifier, if there is one.
    var notifier: ServiceNotifier?
    /// Creates the salt of a segment; nil for a random one.
    var makeSalt: (@Sendable () -> UInt32)?

    private static func randomLog() -> LogID {
        let bytes = ThisProcess.randomBytes(16)
        let halves = [bytes[..<8], bytes[8...]].map {
            $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return LogID(high: halves[0], low: halves[1])
    }
}
