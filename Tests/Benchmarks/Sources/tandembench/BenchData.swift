import Tandem

/// The content of the bench store, which depends only on the number of contents.
struct BenchData {
    struct Content {
        var name: String
        var creationDate: Double
        var size: Int
        /// The index of the bucket, from 0.
        var bucket: Int
    }

    var bucketNames: [String]
    var contents: [Content]

    init(contents count: Int) {
        let buckets = max(1, count / 100)
        bucketNames = (0..<buckets).map { "bucket-" + digits($0 * 7_919 % buckets, 6, radix: 10) }
        var generator = SplitMix64(42)
        contents = (0..<count).map { _ in
            let bucket = generator.below(buckets)
            let name = digits(Int(generator.next() & 0xFFFF_FFFF_FFFF), 12, radix: 16)
            let date = 1_600_000_000 + Double(generator.below(1_000_000))
            let size = generator.below(1_048_576)
            return Content(
                name: "content-" + name, creationDate: date, size: size, bucket: bucket)
        }
    }

    /// Returns the contents in the order of the list: by bucket name, date in descending order, and
    /// name.
    ///
    /// Names happen to be unique, so ids are never needed.
    func listOrder() -> [Int] {
        contents.indices.sorted { a, b in
            let (x, y) = (contents[a], contents[b])
            let (p, q) = (bucketNames[x.bucket], bucketNames[y.bucket])
            if p != q { return p < q }
            return x.creationDate != y.creationDate
                ? x.creationDate > y.creationDate : x.name < y.name
        }
    }
}

extension BenchData {
    /// Throws unless the data and their order match the other programs of the comparison.
    static func check() throws {
        let data = BenchData(contents: 1_000)
        let (first, order) = (data.contents[0], data.listOrder())
        guard first.name == "content-e333b266f103", first.creationDate == 1_600_763_858,
            first.size == 713_620, first.bucket == 3, data.bucketNames[3] == "bucket-000007",
            order.first == 761, order.last == 234
        else { throw Failure("the generated data differ from those of the other programs") }
    }
}

extension BenchData {
    /// Reads everything over a new connection; throws unless it has the expected values.
    @MainActor func check(_ socket: String, _ ids: [ObjectID]) throws {
        let container = container(socket, "check")
        defer { container.close() }
        let context = container.makeContext(name: "check")
        let found = try context.fetch(tandembench.Content.self)
        guard found.count == contents.count else {
            throw Failure("\(found.count) contents, expected \(contents.count)")
        }
        let sizes = Dictionary(uniqueKeysWithValues: zip(ids, contents.map(\.size)))
        for content in found where content.size != sizes[content.id] {
            throw Failure(
                "\(content.id) has size \(content.size), expected \(sizes[content.id] ?? -1)")
        }
        for content in found where content.isEven != (content.size % 2 == 0) {
            throw Failure("\(content.id) has size \(content.size) and is even: \(content.isEven)")
        }
    }
}

/// Returns a number with leading zeros.
private func digits(_ number: Int, _ width: Int, radix: Int) -> String {
    let text = String(number, radix: radix)
    return String(repeating: "0", count: max(0, width - text.count)) + text
}
