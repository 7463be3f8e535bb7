import TandemIO
import TandemModel
import TandemStore

/// The daemon's end of a client's connection: a socket, in simulations a pipe in memory.
///
/// It never blocks. A call through it costs about a nanosecond, the kernel's part of one a thousand times that.
protocol Connection: AnyObject {
    /// The number by which a ``Readiness`` knows it.
    var descriptor: Int32 { get }

    /// Reads what is there, up to the buffer's size.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult

    /// Writes as many of the bytes as are taken at once.
    func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult

    /// Ends the conversation in both directions.
    func shutdown()
}

extension Socket: Connection {}

/// Tells which connections can be read and written.
protocol Readiness: AnyObject {
    /// Watches a descriptor; its events carry `token`.
    func add(_ target: Int32, token: UInt64, interest: Interest) throws(IOError)

    /// Changes what a watched descriptor is watched for.
    func modify(_ target: Int32, token: UInt64, interest: Interest) throws(IOError)

    /// Waits until something is ready and puts it into `events`, which is emptied first.
    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) throws(IOError)
}

extension Poller: Readiness {}

/// What a daemon stands on: the real system, or a simulated one.
struct Surroundings {
    /// Where the journal lies.
    var fileSystem: any FileSystem = RealFileSystem()
    /// Where the time comes from.
    var clock: any Clock = SystemClock()
    /// Settings of the store, which is in LMDB's own files in any case.
    var store = StoreOptions()
    /// Names a new log.
    var newLog: () -> LogID = Surroundings.randomLog
    /// Who is told how the daemon gets on, if anybody.
    var supervision: Supervision?
    /// Makes the salt of a segment; nil for a random one.
    var makeSalt: (@Sendable () -> UInt32)?

    private static func randomLog() -> LogID {
        let bytes = ThisProcess.randomBytes(16)
        let halves = [bytes[..<8], bytes[8...]].map {
            $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return LogID(high: halves[0], low: halves[1])
    }
}
