/// The updates that one pass of P3 makes: each makes a content the first row of its section.
///
/// Writer and reader generate them alike, so that the reader can tell what its list must be in the end.
struct Updates {
    static let warmUp = 20
    static let samples = 300
    static let count = warmUp + samples

    struct Update {
        /// Of the content, from 0.
        var index: Int
        var creationDate: Double
        /// Microseconds to wait before, so that nothing runs in step with the writer.
        var pause: UInt32
    }

    let updates: [Update]

    /// Passes are counted from 0; each goes on where the one before ended.
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
    /// Takes over what a pass and those before it changed.
    mutating func apply(passesThrough last: Int) {
        for pass in 0...last {
            for update in Updates(pass: pass, contents: contents.count).updates {
                contents[update.index].creationDate = update.creationDate
            }
        }
    }
}
