import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// The feeds from which all sequences read: nothing is left out silently (law 8).
@MainActor @Suite struct FeedTests {
    private typealias Numbers = Feed<Int, any Error>

    private func publish(_ numbers: ClosedRange<Int>, to feed: Numbers, limit: Int) {
        for number in numbers {
            feed.publish(number, limit: limit, overflow: TandemError(.limitExceeded, "full"))
        }
    }

    @Test func `elements are read in order, and then the end`() async throws {
        let feed = Numbers()
        publish(1...3, to: feed, limit: 3)
        feed.finish()
        publish(4...4, to: feed, limit: 3)
        var read: [Int] = []
        for try await number in FeedSequence(feed: feed) { read.append(number) }
        #expect(read == [1, 2, 3])
        #expect(try await feed.next() == nil)
    }

    @Test func `law 8: unread elements are read before the error that ended the feed`() async throws
    {
        let feed = Numbers()
        publish(1...4, to: feed, limit: 2)
        #expect(feed.isEnded)
        #expect(try await [feed.next(), feed.next()] == [1, 2])
        await #expect(throws: TandemError.self) { try await feed.next() }
        #expect(try await feed.next() == nil, "the error is thrown once")
    }

    @Test func `a waiting reader receives an element without a limit`() async throws {
        let feed = Numbers()
        let reader = Task { try await feed.next() }
        while feed.isFullyRead { await Task.yield() }
        publish(7...7, to: feed, limit: 0)
        #expect(try await reader.value == 7)
    }

    @Test(arguments: [true, false]) func `a waiting reader receives the end`(_ fails: Bool) async {
        let feed = Numbers()
        let reader = Task { try await feed.next() }
        while feed.isFullyRead { await Task.yield() }
        feed.finish(throwing: fails ? TandemError(.historyExpired, "gone") : nil)
        switch await reader.result {
        case .success(let element): #expect(element == nil && !fails)
        case .failure(let error): #expect((error as? TandemError)?.code == .historyExpired && fails)
        }
        #expect(feed.isEnded)
    }

    @Test func `cancelling ends a waiting and a later reader`() async throws {
        let feed = Numbers()
        let reader = Task { try await feed.next() }
        while feed.isFullyRead { await Task.yield() }
        reader.cancel()
        #expect(try await reader.value == nil)
        publish(1...1, to: feed, limit: 1)
        #expect(try await feed.next() == nil)
    }

    @Test func `a list forgets feeds that ended or lost their reader`() {
        var list = FeedList<Int, any Error>()
        let (kept, ended) = (list.make(), list.make())
        _ = list.make()
        ended.finish()
        #expect(list.open.map(ObjectIdentifier.init) == [ObjectIdentifier(kept)])
        kept.finish()
        #expect(list.isEmpty)
    }

    @Test func `every element reaches the reader, whichever thread publishes it`() async throws {
        let feed = Numbers()
        let publishers = Task {
            await withTaskGroup { group in
                for publisher in 0..<4 {
                    group.addTask {
                        for number in 0..<1_000 {
                            feed.publish(
                                publisher * 1_000 + number, limit: .max,
                                overflow: TandemError(.limitExceeded, "full"))
                        }
                    }
                }
            }
            feed.finish()
        }
        var last = [Int](repeating: -1, count: 4)
        var count = 0
        for try await number in FeedSequence(feed: feed) {
            #expect(last[number / 1_000] < number % 1_000, "each publisher's order is kept")
            last[number / 1_000] = number % 1_000
            count += 1
        }
        await publishers.value
        #expect(count == 4_000)
    }
}
