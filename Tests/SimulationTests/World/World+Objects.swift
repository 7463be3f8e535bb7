import TandemModel
import TandemQuery
import TandemWire

/// Clients that read the past, pin positions, and request verdicts.
extension World {
    func readPast(_ client: SimulatedClient, _ chance: inout Chance) {
        switch chance.below(10) {
        case ..<5: askVerdicts(client, &chance)
        case ..<7: fetchBack(client, &chance)
        case ..<9: readBack(client, &chance)
        default: pin(client, &chance)
        }
    }

    /// Returns a position known at some time, usually one that can still be read.
    private func position(_ chance: inout Chance) -> UInt64 {
        let known = oracle.known
        let first = min(known, oracle.truth.models.last?.position ?? 0)
        let low = chance.percent(10) ? 0 : max(first, known - min(known, 25))
        return max(1, low + UInt64(chance.below(Int(known - low) + 1)))
    }

    private func askVerdicts(_ client: SimulatedClient, _ chance: inout Chance) {
        let lists = SimulatedList.allCases.filter { _ in chance.percent(40) }
        var request = VerdictRequest(from: position(&chance), items: lists.map(\.item))
        if chance.percent(30) {
            request.at = position(&chance)
        } else if chance.percent(40) {
            request.alongside = .fetch(fetch(nil, at: 0, &chance))
        }
        client.send(.verdicts(request), .verdicts(request, lists, floor: oracle.known))
    }

    private func fetch(_ pin: UInt32?, at position: UInt64, _ chance: inout Chance) -> Fetch {
        let entity = chance.pick(["Node", "Node", "Leaf", "Group", "Tag"]) ?? "Node"
        let isNode = entity == "Node" || entity == "Leaf"
        let request = FetchDescriptor(entity: entity, sort: isNode ? ["rank"] : [])
        var fetch = Fetch(request: request, at: position)
        fetch.lease = pin ?? 0
        return fetch
    }

    private func fetchBack(_ client: SimulatedClient, _ chance: inout Chance) {
        let pin = chance.percent(50) ? chance.pick(client.pins.keys.sorted()) : nil
        let position = pin.flatMap { client.pins[$0] } ?? position(&chance)
        let fetch = fetch(pin, at: position, &chance)
        client.send(.fetch(fetch), .fetch(fetch, floor: oracle.known))
    }

    private func readBack(_ client: SimulatedClient, _ chance: inout Chance) {
        guard let model = client.model else { return }
        let at = position(&chance)
        var read = Read(modelVersion: model.version, at: at)
        for _ in 0..<chance.number(1...3) {
            guard let number = chance.pick(oracle.truth.numbers),
                let tag = oracle.truth.tags[number], let entity = model.entity(tagged: tag)
            else { continue }
            let object = ObjectReference(tag: tag, number: number)
            read.objects.append(object)
            for property in entity.properties where property.isToMany {
                read.members.append(MemberRequest(owner: object, slot: property.slot))
            }
        }
        client.send(.read(read), .read(read, floor: oracle.known))
    }

    private func pin(_ client: SimulatedClient, _ chance: inout Chance) {
        let lease = UInt32(chance.number(1...2))
        let request = PinRequest(
            lease: lease, position: chance.percent(20) ? 0 : position(&chance))
        client.send(.pin(request), .pin(request))
    }
}
