import Glibc
import Tandem

/// The saves of one of several writers: a fixed sequence, so that the parent knows the expected
/// content of the store.
///
/// Writer w of W updates only contents whose index modulo W is w; the contents of one save are in
/// ascending order.
struct SaverPlan {
    struct Update {
        /// The index of the content, from 0.
        var index: Int
        var size: Int
    }

    let writer: Int
    let writers: Int
    let perSave: Int
    let contents: Int
    private var generator: SplitMix64

    init(writer: Int, writers: Int, perSave: Int, contents: Int) {
        self.writer = writer
        self.writers = writers
        self.perSave = perSave
        self.contents = contents
        generator = SplitMix64(1_000 + UInt64(writer))
    }

    /// The number of contents of this writer.
    private var mine: Int { (contents - writer + writers - 1) / writers }

    /// Returns the updates of the next save.
    mutating func next() -> [Update] {
        let start = generator.below(mine)
        let step = max(1, mine / perSave)
        let first = perSave == 1 ? start : start % step
        return (0..<perSave).map { k in
            let slot = (first + k * step) % mine
            return Update(index: writer + slot * writers, size: generator.below(1_048_576))
        }
    }
}

/// The start and end of a save, measured by its writer, in nanoseconds of the monotonic clock.
struct SaveTime: BitwiseCopyable {
    var start: UInt64
    var end: UInt64
}

/// One writer process: reports that it is ready, waits for the end of its input, saves, and reports
/// the times.
@MainActor
struct Saver {
    let socket: String
    let folder: String
    let plan: SaverPlan
    /// The limits of time and of saves, after which the writer stops.
    let nanoseconds: UInt64
    let saves: Int

    func run() throws {
        var plan = plan
        let container = container(socket, "saver")
        let context = container.makeContext(name: "p2")
        try context.connect()
        let numbers = try BenchData.loadNumbers(folder)
        let objects = try numbers.map { number in
            try context.object(with: ObjectID(entity: "Content", number: number)) as? Content
        }
        try send([UInt64(1)])
        var byte: UInt8 = 0
        _ = read(STDIN_FILENO, &byte, 1)
        var times: [SaveTime] = []
        let stop = now() + nanoseconds
        repeat {
            let updates = plan.next()
            let start = now()
            for update in updates {
                objects[update.index]?.size = update.size
                objects[update.index]?.isEven = update.size % 2 == 0
            }
            try context.save()
            times.append(SaveTime(start: start, end: now()))
        } while times.count < saves && times[times.count - 1].end < stop
        container.close()
        try send([UInt64(times.count)])
        try send(times)
    }
}

extension BenchData {
    /// Writes the numbers of the contents to a file for the writers.
    static func save(_ ids: [ObjectID], to folder: String) throws {
        let file = open(folder + "/numbers", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        let numbers = ids.map(\.number)
        let count = numbers.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard count == numbers.count * 8 else { throw Failure("can't write to \(folder)") }
    }

    static func loadNumbers(_ folder: String) throws -> [UInt64] {
        let file = open(folder + "/numbers", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let bytes = Int(lseek(file, 0, SEEK_END))
        var numbers = [UInt64](repeating: 0, count: max(0, bytes / 8))
        let count = numbers.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        guard bytes > 0, count == bytes else { throw Failure("can't read \(folder)/numbers") }
        return numbers
    }
}
