import TandemModel
package import TandemWire

/// The pages of a range of the journal: makes the requests, one after another, and checks the
/// answers.
///
/// Every reader of history uses it, whether it blocks or suspends while it waits for an answer:
///
///     var pages = HistoryPages(HistoryRequest(from: start, to: end))
///     while !pages.isComplete {
///         let answer = connection.answer(.history(pages.request))
///         transactions += try pages.accept(answer).transactions
///     }
package struct HistoryPages: Sendable {
    /// The request for the next page.
    package private(set) var request: HistoryRequest
    /// Whether the range was read to its end.
    package private(set) var isComplete: Bool

    /// Creates the pages of the range of a request; its limit applies to each page.
    ///
    /// A range without an end (0) ends with the journal. Any other end has to be in the journal.
    package init(_ request: HistoryRequest) {
        self.request = request
        isComplete = request.to != 0 && request.from >= request.to
    }

    /// Returns the pages of the model installations after a number, up to `end`; 0 is the journal's
    /// end.
    package static func models(after number: UInt64, through end: UInt64 = 0) -> HistoryPages {
        let condition = HistoryCondition(isOfModels: true)
        return HistoryPages(HistoryRequest(from: number, to: end, condition: condition))
    }

    /// The number of the position up to which the journal was read.
    package var position: UInt64 { request.from }

    /// Accepts the answer to ``request``, and advances to the next page.
    ///
    /// Throws the error of a failed request. Throws `storage` if the page exceeds the range, or if
    /// it does not advance although the range has more positions: the reader would request it
    /// forever.
    package mutating func accept(
        _ answer: Result<DaemonMessage, TandemError>
    ) throws(TandemError) -> History {
        let start = request.from
        let isOpen = request.to == 0
        guard case .history(let page) = try answer.get(),
            isOpen || page.position <= request.to,
            page.position > start || isOpen && page.isComplete && page.position == start
        else { throw TandemError.unexpectedAnswer("the history after position \(start)") }
        request.from = page.position
        isComplete = isOpen ? page.isComplete : page.position == request.to
        return page
    }
}
