/// The updates of one pass of P3: each makes a content object the first row of its section.
///
/// Writer and reader generate the same updates, so that the reader knows the final content of its
/// list.
struct Updates {
    static let warmUp = 20
    static let samples = 300
    static let count = warmUp + samples

    struct Update {
        /// The index of the content, from 0.
        var index: Int
        var creationDate: Double
        /// The wait before the update in microseconds, so that nothing runs in step with the
        /// writer.
        var pause: UInt32
    }

    let updates: [Update]

    /// Creates the updates of a pass, counted from 0; each pass continues the previous one.
    init(pass: Int, contents: Int) {
        var generator = SplitMix64(44)
        updates = (1...Self.count).map { i in
            let pause = UInt32(generator.below(3_000))
            return Update(
                index: generator.below(contents),
                creationDate: 1_700_000_000 + Double(pass * Self.count + i), pause: pause)
        }
    }
}

extension BenchData {
    /// Applies the updates of a pass and all previous ones.
    mutating func apply(passesThrough last: Int) {
        for pass in 0...last {
            for update in Updates(pass: pass, contents: contents.count).updates {
                contents[update.index].creationDate = update.creationDate
            }
        }
    }
}
