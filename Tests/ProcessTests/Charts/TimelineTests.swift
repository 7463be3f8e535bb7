import Tandem
import TestSupport
import TestWorlds
import Testing

@testable import tandem

/// The data of charts: columns over time, durations, and ticks of the axis.
@Suite(.ownThread) struct TimelineTests {
    @Test(arguments: 0..<20)
    func `every column counts the saves of its time, in any order`(_ run: Int) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let start = Int64(random.next(2_000_000_000)) * 1_000_000
        let spread = (0..<random.next(15)).reduce(1) { power, _ in power * 10 }
        let made = (0..<200).map { _ in
            (
                time: start - Int64(random.next(spread)) + Int64(random.next(spread)),
                author: "author \(random.next(4))", entity: "E\(random.next(20))",
                objects: random.next(3)
            )
        }
        let limit = 8 + random.next(60)
        let timeline = try MadeEntries.timeline(limit, made)
        let columns = try #require(timeline.shown(atLeast: 1))
        #expect(columns.count <= limit, "TANDEM_SEED=\(seed)")
        var wanted = [Int](repeating: 0, count: columns.count)
        for item in made {
            let column = Int(timeline.grid.column(item.time) - columns.lowerBound)
            try #require(wanted.indices.contains(column), "TANDEM_SEED=\(seed)")
            wanted[column] += 1
        }
        #expect(timeline.all(in: columns).counts == wanted, "TANDEM_SEED=\(seed)")
        let authors = timeline.authors(3, in: columns)
        #expect(authors.map(\.name).last == "(others)" && authors.count == 3)
        #expect(authors.map(\.total).reduce(0, +) == made.count, "TANDEM_SEED=\(seed)")
        let entities = timeline.entities(5, in: columns)
        #expect(
            entities.map(\.total).reduce(0, +) == made.map(\.objects).reduce(0, +),
            "TANDEM_SEED=\(seed)")
    }

    @Test func `each width is a multiple of the one before`() {
        for (width, next) in zip(TimeGrid.widths, TimeGrid.widths.dropFirst()) {
            #expect(next > width && next.isMultiple(of: width), "\(width) \(next)")
        }
    }

    @Test(arguments: [1, 10, 240])
    func `no time is too early, too late or too far from another`(_ limit: Int) throws {
        let wild: [Int64] = [.min, .max, 0, -1, 1_800_000_000_000_000, .min + 1, .max - 1]
        for times in [wild, wild.reversed(), [.max], [.min]] {
            let timeline = try MadeEntries.timeline(
                limit, times.map { ($0, "a", "E", 1) })
            let timelineStyle = TimelineStyle(
                isUTC: true, durations: SaveDurations(between: timeline.gaps))
            #expect(TimelineSVG.text(timeline, timelineStyle).hasSuffix("</svg>\n"))
            #expect(
                TimelineText(timeline: timeline, timelineStyle: timelineStyle).lines(width: 80)
                    .count > 5)
            let columns = try #require(timeline.shown(atLeast: 1))
            #expect(timeline.all(in: columns).total == times.count)
        }
    }

    @Test func `names beyond the limit are counted together`() throws {
        let made = (0..<200).map { number in
            (time: Int64(number) * 1_000, author: "author \(number)", entity: "E", objects: 1)
        }
        let timeline = try MadeEntries.timeline(10, made)
        let authors = timeline.authors(10, in: try #require(timeline.shown(atLeast: 1)))
        #expect(authors.count == 10)
        #expect(authors.last?.total == 191)
        var statistics = JournalStatistics(by: .author)
        for entry in try MadeEntries.entries(
            (0..<5_000).map { (Int64($0), "author \($0)", "E", 1) })
        {
            statistics.add(entry)
        }
        #expect(statistics.rows.count == JournalStatistics.limit + 1)
        #expect(statistics.rows.last?.name == "(others)")
        #expect(statistics.rows.last?.counts.transactions == 5_000 - JournalStatistics.limit)
    }

    @Test(arguments: 0..<10)
    func `a percentile is at least the exact one, and at most an eighth above it`(
        _ run: Int
    ) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        var durations = Durations()
        let all = (0..<500).map { _ in Int64(random.next(1 << (1 + random.next(40)))) }
        for duration in all { durations.add(duration) }
        let sorted = all.sorted()
        for share in [0.001, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = sorted[max(1, Int((share * 500).rounded(.up))) - 1]
            let found = try #require(durations.percentile(share))
            #expect(found >= exact, "TANDEM_SEED=\(seed) \(share)")
            #expect(found <= exact + exact / 8 + 1, "TANDEM_SEED=\(seed) \(share)")
        }
        #expect(durations.longest == sorted.last)
        #expect(Durations().percentile(0.5) == nil)
    }

    @Test func `counts from elsewhere are accepted only if they fit their bounds`() throws {
        let whole = try #require(Durations(bounds: [1, 2, 4], counts: [5, 4, 0, 1], longest: 9))
        #expect(whole.percentile(0.5) == 1)
        #expect(whole.percentile(0.9) == 2)
        #expect(whole.percentile(0.99) == 9)
        #expect(Durations(bounds: [1, 2], counts: [1, 2], longest: 1) == nil)
        #expect(Durations(bounds: [2, 1], counts: [1, 2, 3], longest: 1) == nil)
        #expect(Durations(bounds: [1], counts: [.max, .max], longest: 1) == nil)
        #expect(Durations(bounds: [1], counts: [-1, 1], longest: 1) == nil)
    }

    @Test func `ticks are at round times, in ascending order, and no more than fit`() {
        for span in TimeGrid.widths.dropLast(2).map({ $0 * 7 / 2 }) {
            let from: Int64 = 1_795_325_242_725_381
            let marks = TimeTicks(from: from, to: from + span, most: 7, isUTC: true)
            let times = marks.ticks.map(\.time)
            #expect((1...8).contains(times.count), "\(span)")
            #expect(times == times.sorted() && times.allSatisfy { (from...from + span) ~= $0 })
            #expect(times.allSatisfy { $0.isMultiple(of: marks.step) }, "\(span)")
        }
        let hours = TimeTicks(
            from: 1_795_305_600_000_000, to: 1_795_413_600_000_000, most: 7, isUTC: true)
        #expect(hours.ticks.map(\.label) == ["00:00", "06:00", "12:00", "18:00", "00:00", "06:00"])
        #expect(hours.ticks.map(\.day) == ["Nov 22", nil, nil, nil, "Nov 23", nil])
    }

    @Test func `numbers are formatted for people`() {
        #expect(Quantity.count(1_234_567) == "1,234,567")
        #expect(Quantity.count(-1_000) == "-1,000")
        #expect(Quantity.count(1, "change") == "1 change")
        #expect(Quantity.bytes(1_023) == "1023 B")
        #expect(Quantity.bytes(1_536) == "1.5 KiB")
        #expect(Quantity.duration(1_024) == "1.02 ms")
        #expect(Quantity.duration(150_000_000) == "2.5 min")
        #expect("Зал".cells == 3 && "日本".cells == 4)
        #expect("日本語".cut(toCells: 4) == "日…")
        #expect("a\u{1b}[2Jb\n".printable == "a\u{fffd}[2Jb\u{fffd}")
    }
}
