import Glibc
import Tandem

/// P7: the memory of a process that holds the sectioned list in a results controller and has read
/// no row yet, and the memory that all rows add as objects of the context.
@MainActor
struct HeldListBenchmark {
    let socket: String
    let folder: String
    let n: Int

    func run() throws {
        let data = BenchData(contents: n)
        let ids = try data.seed(socket)
        var expected = Digest()
        for at in data.listOrder() { expected.add(ids[at].number) }
        let holder = try BenchProcess(["p7-holder", "\(n)", socket, folder])
        let found = try holder.read(6, UInt64(0))
        try holder.finish()
        guard found[4] == expected.value else { throw Failure("the list is not in order") }
        let (resident, before) = (Double(found[0]), Double(found[3]))
        ResultLine(
            scenario: "p7", peer: "tandem", n: n, metric: "rss", values: [resident], unit: "KiB",
            notes: [
                ("pss", "\(found[1])"), ("private", "\(found[2])"), ("before", "\(found[3])"),
                ("bytes_per_row", decimal((resident - before) * 1_024 / Double(n))),
            ], durability: nil
        ).emit()
        let rows = Double(found[5]) - resident
        ResultLine(
            scenario: "p7", peer: "tandem", n: n, metric: "objects", values: [rows], unit: "KiB",
            notes: [("bytes_per_row", decimal(rows * 1_024 / Double(n)))], durability: nil
        ).emit()
    }

    /// Holds the list in this process, and sends its memory before and after, and a digest of the
    /// order.
    static func hold(_ socket: String) throws {
        let container = container(socket, "holder")
        let context = container.makeContext(name: "holder")
        _ = try context.connect()
        let before = try memory()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", sort: ["bucket.name", "-creationDate", "name"]),
            context: context, sectionNameKeyPath: "bucket.name")
        try controller.performFetch()
        let after = try memory()
        var digest = Digest()
        for section in controller.sections {
            for id in section.objectIDs { digest.add(id.number) }
        }
        let rows = try context.fetch(FetchRequest<Content>())
        guard rows.count == controller.numberOfObjects else { throw Failure("\(rows.count) rows") }
        let held = try withExtendedLifetime(rows) { try memory() }
        try send([after[0], after[1], after[2], before[0], digest.value, held[0]])
        container.close()
    }

    /// Returns the resident, proportional and private memory in KiB, without memory that was freed
    /// to the allocator.
    private static func memory() throws -> [UInt64] {
        giveBack()
        guard let file = fopen("/proc/self/smaps_rollup", "r") else {
            throw Failure("no smaps_rollup")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&bytes, 1, bytes.count, file)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
        func kibibytes(_ name: String) -> UInt64 {
            UInt64(lines.first { $0.hasPrefix(name + ":") }?.filter(\.isNumber) ?? "") ?? 0
        }
        return [
            kibibytes("Rss"), kibibytes("Pss"),
            kibibytes("Private_Clean") + kibibytes("Private_Dirty"),
        ]
    }
}

/// Returns free memory to the kernel, if the C library can do that.
///
/// The call is looked up because Swift's Glibc module omits it.
private func giveBack() {
    typealias Trim = @convention(c) (Int) -> Int32
    guard let symbol = dlsym(nil, "malloc_trim") else { return }
    _ = unsafeBitCast(symbol, to: Trim.self)(0)
}

/// A hash of numbers in their order.
private struct Digest {
    var value: UInt64 = 14_695_981_039_346_656_037

    mutating func add(_ number: UInt64) { value = (value ^ number) &* 1_099_511_628_211 }
}
