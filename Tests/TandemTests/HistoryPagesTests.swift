import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// The pages of a range of the journal.
@MainActor @Suite struct HistoryPagesTests {
    private func answer(_ position: UInt64, isComplete: Bool) -> Result<DaemonMessage, TandemError>
    {
        .success(
            .history(
                History(position: position, transactions: [], isComplete: isComplete, first: 1)))
    }

    @Test func `a range is read from its start to its end, page by page`() throws {
        var pages = HistoryPages(HistoryRequest(from: 3, to: 9, limit: 2))
        for position in [5, 6, 9] as [UInt64] {
            #expect(!pages.isComplete && pages.request.to == 9 && pages.request.limit == 2)
            #expect(try pages.accept(answer(position, isComplete: false)).position == position)
            #expect(pages.position == position && pages.request.from == position)
        }
        #expect(pages.isComplete)
        #expect(HistoryPages(HistoryRequest(from: 9, to: 9)).isComplete)
    }

    @Test func `a range without an end ends with the journal, which may have no more`() throws {
        var pages = HistoryPages(HistoryRequest(from: 3))
        _ = try pages.accept(answer(5, isComplete: false))
        #expect(!pages.isComplete)
        _ = try pages.accept(answer(5, isComplete: true))
        #expect(pages.isComplete && pages.position == 5)
    }

    @Test(
        arguments: [
            (0, 3, false), (0, 2, true), (9, 3, true), (9, 3, false), (9, 2, true), (9, 10, true),
        ] as [(UInt64, UInt64, Bool)])
    func `an answer that would be requested forever, or exceeds the range, is refused`(
        _ end: UInt64, _ position: UInt64, _ isComplete: Bool
    ) {
        var pages = HistoryPages(HistoryRequest(from: 3, to: end))
        let error = #expect(throws: TandemError.self) {
            try pages.accept(answer(position, isComplete: isComplete))
        }
        #expect(error?.code == .storage && pages.position == 3 && !pages.isComplete)
    }

    @Test func `the error of a request is thrown, and the request can be repeated`() throws {
        var pages = HistoryPages(HistoryRequest(from: 3, to: 9))
        let error = #expect(throws: TandemError.self) {
            try pages.accept(.failure(TandemError(.timeout, "no answer")))
        }
        #expect(error?.code == .timeout && pages.request.from == 3)
        _ = try pages.accept(answer(9, isComplete: true))
        #expect(pages.isComplete)
    }

    @Test func `law 2: pages that were begun in one log are not continued in another`() throws {
        let fixture = try Fixture()
        let container = fixture.container("reader")
        let writer = fixture.container("writer").makeContext(name: "writer")
        try writer.insert(Content.self).name = "a"
        let end = try writer.save()
        var pages = try container.pages(after: 0, limit: 1)
        #expect(try container.next(&pages, at: end).transactions.count == 1)
        let other = Position(log: LogID(high: 1, low: 1), epoch: end.epoch, number: end.number)
        let error = #expect(throws: TandemError.self) { try container.next(&pages, at: other) }
        #expect(error?.code == .historyExpired)
    }
}
