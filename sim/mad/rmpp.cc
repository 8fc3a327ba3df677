#include "sim/mad/rmpp.h"

#include "sim/mad/fields.h"

namespace verbatim::mad {

namespace {

template <class Fields, class Head>
void visit_rmpp(Fields& fields, Head& header) {
  fields.number(24, 0, 8, header.version);
  fields.number(25, 0, 8, header.type);
  fields.number(26, 0, 5, header.response_time);
  fields.number(26, 5, 3, header.flags);
  fields.number(27, 0, 8, header.status);
  fields.number(28, 0, 32, header.segment);
  fields.number(32, 0, 32, header.length);
}

}  // namespace

RmppHeader RmppHeader::of(const ib::Mad& mad) {
  RmppHeader header;
  FieldReader reader(mad);
  visit_rmpp(reader, header);
  return header;
}

void RmppHeader::put(ib::Mad& mad) const {
  FieldWriter writer(mad);
  visit_rmpp(writer, *this);
}

}  // namespace verbatim::mad
