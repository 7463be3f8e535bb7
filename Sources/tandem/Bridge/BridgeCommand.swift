import ArgumentParser
import Dispatch
import Tandem
import TandemIO

/// `tandem bridge`: contexts and controllers over JSON lines, for shells, Python, Node.
struct BridgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Carries out requests from standard input, one JSON object a line.",
        discussion: """
            When history no longer reaches back to what an observer heard last, a `connection` event says so, with \
            state `restored`, the position from which it goes on, and a key more: `missed`, with the observer and the \
            position behind which saves were missed (`after`).

            When a context can't merge what others saved, a `failure` event has its name (`context`) instead of a \
            controller's, and the position at which it stays; lists follow with the next merge.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(help: "The name under which the journal lists the saves.")
    var author: String = "bridge"

    @Option(
        help: ArgumentHelp(
            "How many rows a context keeps besides those in use.",
            discussion: "Fewer keep a long-lived bridge small, more spare it questions.",
            valueName: "rows"))
    var cachedRows: Int = ClientLimits().cachedRows

    func validate() throws {
        guard cachedRows > 0 else {
            throw ValidationError("--cached-rows is \(cachedRows); it takes 1 or more")
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
