import TandemModel
import TandemWire

/// A client's handling of verdicts and of answers at earlier positions.
extension SimulatedClient {
    /// Checks verdicts, and the piggybacked answer at their position.
    func judged(
        _ answer: Verdicts, _ request: VerdictRequest, _ lists: [SimulatedList], _ floor: UInt64
    ) {
        if request.at == 0 {
            oracle.reads(at: answer.position, askedAt: max(floor, request.from))
        } else {
            oracle.expect(answer.position == request.at, 4, "verdicts are of another position")
        }
        oracle.judges(answer, request, lists)
        switch (request.alongside, answer.alongside) {
        case (nil, nil): break
        case (.fetch(let fetch), .fetched(let found)):
            oracle.expect(
                found.position == answer.position, 4,
                "a read is not at the position of its verdicts")
            oracle.fetches(found, fetch.request)
        default: oracle.report(4, "the piggybacked answer has the wrong type")
        }
    }
}

extension Verdicts {
    /// Inverts the first verdict.
    mutating func turn() {
        guard let index = items.firstIndex(where: { !$0.isEmpty }) else { return }
        items[index][0].matches.toggle()
    }
}

extension OpenRequest {
    /// The entities that the request subscribes to.
    var interests: [EntityTag] {
        switch self {
        case .fetch(let fetch, _): fetch.interests
        case .read(let read, _): read.interests
        default: []
        }
    }

    /// The earlier positions that the request concerns; nil if it concerns the tail.
    var positions: [UInt64]? {
        switch self {
        case .fetch(let fetch, _): fetch.at == 0 ? nil : [fetch.at]
        case .read(let read, _): read.at == 0 ? nil : [read.at]
        case .verdicts(let request, _, _):
            [request.from] + (request.at == 0 ? [] : [request.at])
        case .pin(let request): request.position == 0 ? nil : [request.position]
        default: nil
        }
    }
}
