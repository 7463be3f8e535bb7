// An app imports Tandem and has the words it needs: models and ids, predicates and requests, change values.
@_exported public import TandemModel
@_exported public import TandemQuery
@_exported public import TandemResults
