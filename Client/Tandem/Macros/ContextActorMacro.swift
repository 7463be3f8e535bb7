#if Macros
/// Gives an actor a container and a context of its own.
///
///     @ContextActor(mergesAutomatically: true)
///     actor Scorer {
///         func add(_ wins: Int, to id: TypedID<Team>) async throws {
///             try await context.existingObject(with: id).wins += wins
///             try await context.save()
///         }
///     }
///     let scorer = Scorer(container: container)
///
/// Adds the properties `container` and `context`, and `init(container:)` unless the actor declares
/// an initializer. The context is created at its first use, so that it belongs to the actor.
/// - Parameters:
///   - name: The context name that the journal records for saves; by default, the actor's name.
///   - mergesAutomatically: Whether the context merges saves by others automatically.
@attached(
    member, names: named(container), named(context), named(madeContext), named(init(container:)))
public macro ContextActor(name: String? = nil, mergesAutomatically: Bool = false) =
    #externalMacro(module: "TandemMacroPlugin", type: "ContextActorMacro")
#endif
