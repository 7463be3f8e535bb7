import ArgumentParser
import Dispatch
import Tandem
import TandemIO

/// `tandem bridge`: provides contexts and controllers to shells, Python and Node over JSON lines.
struct BridgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Carry out requests from standard input, one JSON object per line.",
        discussion: """
            If the history no longer reaches back to an observer's last event, the observer misses saves. A \
            `connection` event with the state `restored` then contains the position from which events continue. Its \
            key `missed` names the observer and the position after which saves were missed (`after`).

            If a context cannot merge the saves of other processes, a `failure` event contains its name (`context`, \
            in place of `controller`) and its position. Lists are updated by the next merge that succeeds.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(help: "The author of the saves in the journal.")
    var author: String = "bridge"

    @Option(
        help: ArgumentHelp(
            "The number of rows that a context caches besides those in use.",
            discussion: "A smaller cache saves memory, a larger one saves requests.",
            valueName: "rows"))
    var cachedRows: Int = ClientLimits().cachedRows

    func validate() throws {
        guard cachedRows > 0 else {
            throw ValidationError("--cached-rows must be at least 1, not \(cachedRows)")
        }
    }

    func run() async throws {
        let lines = try InputLines()
        let container = global.container(
            author: author, isPatient: true, cachedRows: cachedRows)
        await Bridge(container: container).run(lines)
    }
}

/// The lines of standard input, read by a separate thread, at most 64 lines ahead.
struct InputLines: AsyncSequence {
    typealias Element = Result<[UInt8], IOError>

    private static let readAhead = 64
    private let stream: AsyncStream<Element>
    private let room = DispatchSemaphore(value: InputLines.readAhead)

    init() throws {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        self.stream = stream
        let room = room
        _ = try KernelThread.start(name: "bridge-input") {
            let input = StandardInput()
            while let line = InputLines.next(input) {
                room.wait()
                continuation.yield(line)
            }
            continuation.finish()
        }
    }

    private static func next(_ input: StandardInput) -> Element? {
        do throws(IOError) {
            return try input.readLine().map { .success($0) }
        } catch {
            guard error.isTooLong, (try? input.skipLine()) != nil else { return nil }
            return .failure(error)
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<Element>.Iterator
        let room: DispatchSemaphore

        mutating func next() async -> Element? {
            let line = await base.next()
            room.signal()
            return line
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator(), room: room)
    }
}
